//! The dashboard of `deploy/grafana`: its queries as Grafana sends them.

use serde_json::Value;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::served::Served;

const DASHBOARD: &str = include_str!("../../../../deploy/grafana/dashboards/captures.json");

/// A query as Grafana's source for PostgreSQL writes it: with variables and macros replaced.
fn written(sql: &str, dashboard: &Value) -> String {
    let (from, to) = (&dashboard["time"]["from"], &dashboard["time"]["to"]);
    let moment = |at: &Value| format!("'{}'", at.as_str().unwrap().replace(".000Z", "Z"));
    let mut sql = sql.replace("$__interval", "30s");
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let place = format!("${{{}:raw}}", variable["name"].as_str().unwrap());
        sql = sql.replace(&place, variable["current"]["value"].as_str().unwrap());
    }
    while let Some(at) = sql.find("$__") {
        let open = at + sql[at..].find('(').unwrap();
        let close = open + sql[open..].find(')').unwrap();
        let arguments: Vec<&str> = sql[open + 1..close].split(',').map(str::trim).collect();
        let replaced = match (&sql[at..open], &arguments[..]) {
            ("$__timeFilter", [column]) => {
                format!("{column} BETWEEN {} AND {}", moment(from), moment(to))
            }
            ("$__timeGroupAlias", [column, "30s"]) => {
                format!("floor(extract(epoch from {column})/30)*30 AS \"time\"")
            }
            other => panic!("{other:?}"),
        };
        sql.replace_range(at..=close, &replaced);
    }
    sql
}

#[test]
fn the_dashboard_of_grafana_is_answered() {
    let served = Served::plain();
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let config = format!(
        "host=127.0.0.1 port={} user=grafana dbname=weir",
        served.postgres.port()
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        tokio::spawn(connection);
        let ask = async |sql: &str| -> Vec<Vec<(String, Option<String>)>> {
            let answer = client.simple_query(sql).await;
            let answer = answer.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            let rows = answer.iter().filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => Some(row),
                _ => None,
            });
            rows.map(|row| {
                let names = row.columns().iter().map(|column| column.name().to_owned());
                let values = (0..row.len()).map(|index| row.get(index).map(str::to_owned));
                names.zip(values).collect()
            })
            .collect()
        };
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            let files = ask(variable["query"].as_str().unwrap()).await;
            let current = variable["current"]["value"].as_str().unwrap();
            let is_there =
                |row: &Vec<(String, Option<String>)>| row[0].1.as_deref() == Some(current);
            assert!(files.iter().any(is_there), "{current}: {files:?}");
        }
        let panels = dashboard["panels"].as_array().unwrap();
        assert!(panels.len() > 10);
        for panel in panels {
            for target in panel["targets"].as_array().unwrap() {
                let sql = written(target["rawSql"].as_str().unwrap(), &dashboard);
                let rows = ask(&sql).await;
                assert!(!rows.is_empty(), "{}: {sql}", panel["title"]);
                assert!(
                    rows.iter().flatten().any(|(_, value)| value.is_some()),
                    "{sql}"
                );
                if target["format"] == "time_series" {
                    let times: Vec<f64> = rows
                        .iter()
                        .map(|row| match &row[0] {
                            (name, Some(value)) if name == "time" => value.parse().unwrap(),
                            other => panic!("{sql}: {other:?}"),
                        })
                        .collect();
                    assert!(times.is_sorted() && times.len() > 5, "{sql}: {times:?}");
                }
            }
        }
    });
}
