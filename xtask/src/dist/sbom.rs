//! The bill of materials: which packages the program is made of, as CycloneDX 1.5.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Program, SUMMARY};
use crate::{FULL, cargo, root};

/// Writes `weir-VERSION-TARGET.cdx.json`.
pub(super) fn make(program: &Program, out: &Path) -> Result<()> {
    let mut metadata = cargo(&["metadata", "--locked", "--format-version", "1"])?;
    metadata
        .args(["--filter-platform", &program.target])
        .args(FULL);
    let output = metadata.output()?;
    if !output.status.success() {
        bail!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let bill = bill(&metadata, &sums()?, &program.version)?;
    let name = format!("weir-{}-{}.cdx.json", program.version, program.target);
    fs::write(out.join(name), serde_json::to_vec_pretty(&bill)?)?;
    Ok(())
}

/// The checksums of `Cargo.lock`, by name and version.
fn sums() -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = fs::read_to_string(root()?.join("Cargo.lock"))?.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let text = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let sum = |package: &toml::Value| {
        let key = (text(package, "name")?, text(package, "version")?);
        Some((key, text(package, "checksum")?))
    };
    Ok(packages
        .context("the lock file has packages")?
        .iter()
        .filter_map(sum)
        .collect())
}

fn bill(
    metadata: &Value,
    sums: &BTreeMap<(String, String), String>,
    version: &str,
) -> Result<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let first = packages
        .iter()
        .find(|(_, package)| package["name"] == "weir-cli")
        .map(|(id, _)| id.clone())
        .context("there is a package weir-cli")?;
    // What is linked in, not what builds it or tests it.
    let below = |id: &str| -> BTreeSet<String> {
        let deps = nodes
            .get(id)
            .map(|node| list(&node["deps"]))
            .unwrap_or_default();
        let is_linked = |dep: &Value| {
            list(&dep["dep_kinds"])
                .iter()
                .any(|kind| kind["kind"].is_null())
        };
        deps.iter()
            .filter(|dep| is_linked(dep))
            .map(|dep| text(&dep["pkg"]))
            .collect()
    };
    let mut seen = BTreeSet::new();
    let mut left = vec![first.clone()];
    while let Some(id) = left.pop() {
        if seen.insert(id.clone()) {
            left.extend(below(&id));
        }
    }
    let reference = |id: &str| {
        let package = &packages[id];
        format!(
            "pkg:cargo/{}@{}",
            text(&package["name"]),
            text(&package["version"])
        )
    };
    let component = |id: &String| {
        let package = &packages[id];
        let key = (text(&package["name"]), text(&package["version"]));
        let mut component = json!({
            "type": "library",
            "bom-ref": reference(id),
            "name": key.0,
            "version": key.1,
            "purl": reference(id),
        });
        if let Some(licence) = package["license"].as_str() {
            component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        if let Some(sum) = sums.get(&key) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    };
    let others: Vec<&String> = seen.iter().filter(|id| **id != first).collect();
    let dependencies: Vec<Value> = seen
        .iter()
        .map(|id| {
            let on: Vec<String> = below(id).iter().map(|id| reference(id)).collect();
            json!({ "ref": reference(id), "dependsOn": on })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": reference(&first),
            "name": "weir",
            "version": version,
            "description": SUMMARY,
        } },
        "components": others.into_iter().map(component).collect::<Vec<_>>(),
        "dependencies": dependencies,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill_has_what_is_linked_and_not_what_builds() {
        let metadata = json!({
            "packages": [
                { "id": "a", "name": "weir-cli", "version": "1.0.0", "license": "MIT" },
                { "id": "b", "name": "linked", "version": "2.0.0", "license": "MIT/Apache-2.0" },
                { "id": "c", "name": "builds", "version": "3.0.0" },
            ],
            "resolve": { "nodes": [
                { "id": "a", "deps": [
                    { "pkg": "b", "dep_kinds": [{ "kind": null }, { "kind": "dev" }] },
                    { "pkg": "c", "dep_kinds": [{ "kind": "build" }] },
                ] },
                { "id": "b", "deps": [] },
                { "id": "c", "deps": [] },
            ] },
        });
        let key = ("linked".to_owned(), "2.0.0".to_owned());
        let bill = bill(
            &metadata,
            &BTreeMap::from([(key, "abc".to_owned())]),
            "1.0.0",
        )
        .unwrap();
        assert_eq!(bill["components"].as_array().unwrap().len(), 1);
        let linked = &bill["components"][0];
        assert_eq!(linked["purl"], "pkg:cargo/linked@2.0.0");
        assert_eq!(linked["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(linked["hashes"][0]["content"], "abc");
        assert_eq!(
            bill["dependencies"][0]["dependsOn"][0],
            "pkg:cargo/linked@2.0.0"
        );
    }
}
