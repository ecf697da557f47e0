//! The bill of materials: which packages the program is made of, as CycloneDX 1.5.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Program, SUMMARY};
use crate::workspace::{FULL, cargo, root};

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
    let graph = Graph::of(metadata);
    let first = graph
        .packages
        .iter()
        .find(|(_, package)| package["name"] == "weir-cli")
        .map(|(id, _)| id.clone())
        .context("there is a package weir-cli")?;
    let seen = graph.reached_from(&first);
    let others = seen.iter().filter(|id| **id != first);
    let components: Vec<Value> = others.map(|id| graph.component(id, sums)).collect();
    let dependencies: Vec<Value> = seen
        .iter()
        .map(|id| {
            let below = graph.below(id);
            let on: Vec<String> = below.iter().map(|id| graph.reference(id)).collect();
            json!({ "ref": graph.reference(id), "dependsOn": on })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": graph.reference(&first),
            "name": "weir",
            "version": version,
            "description": SUMMARY,
        } },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The packages that `cargo metadata` names, and what each depends on, by their ids.
struct Graph {
    packages: BTreeMap<String, Value>,
    nodes: BTreeMap<String, Value>,
}

impl Graph {
    fn of(metadata: &Value) -> Self {
        let by_id = |items: &Value| {
            list(items)
                .into_iter()
                .map(|item| (text(&item["id"]), item))
                .collect()
        };
        Self {
            packages: by_id(&metadata["packages"]),
            nodes: by_id(&metadata["resolve"]["nodes"]),
        }
    }

    /// The packages that are linked into a package, without its build and test dependencies.
    fn below(&self, id: &str) -> BTreeSet<String> {
        let deps = self
            .nodes
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
    }

    fn reached_from(&self, first: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut left = vec![first.to_owned()];
        while let Some(id) = left.pop() {
            if seen.insert(id.clone()) {
                left.extend(self.below(&id));
            }
        }
        seen
    }

    fn reference(&self, id: &str) -> String {
        let package = &self.packages[id];
        format!(
            "pkg:cargo/{}@{}",
            text(&package["name"]),
            text(&package["version"])
        )
    }

    fn component(&self, id: &str, sums: &BTreeMap<(String, String), String>) -> Value {
        let package = &self.packages[id];
        let key = (text(&package["name"]), text(&package["version"]));
        let mut component = json!({
            "type": "library",
            "bom-ref": self.reference(id),
            "name": key.0,
            "version": key.1,
            "purl": self.reference(id),
        });
        if let Some(licence) = package["license"].as_str() {
            component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        if let Some(sum) = sums.get(&key) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        component
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
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
