//! Refreshes the embedded model catalogue of `pi-ai` from a file of facts.
//!
//! The file holds `source`, `generatedAt`, `providers` and `models`, one model a row. Written are one
//! file per provider, the table that embeds them, and the facts part of `providers.json`; what a
//! person put into `providers.json` (keys, defaults, order) stays. Everything left out is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Request headers by which a client says that it is another product. They are never kept.
const FOREIGN_IDENTITY: &[&str] =
    &["copilot-integration-id", "editor-plugin-version", "editor-version", "user-agent"];

/// Names a list of the report shows; the rest is in the diff.
const SHOWN: usize = 40;

/// Fields of `providers.json` that come from the source; all others are kept by hand.
const PROVIDER_FACTS: &[&str] = &["id", "name", "baseUrl", "apis", "keyName", "login"];

/// Reads `source` and rewrites the catalogue below `root`. Returns what changed, for people.
pub(crate) fn refresh(root: &Path, source: &Path) -> Result<String> {
    let text = fs::read_to_string(source).with_context(|| source.display().to_string())?;
    let facts: Facts = serde_json::from_str(&text).with_context(|| source.display().to_string())?;
    let mut report = Report::default();
    let catalogue = sort_models(facts.models, &mut report)?;
    let data = root.join("crates/pi-ai/data");
    write_models(&data.join("models"), &catalogue, &mut report)?;
    write_providers(&data.join("providers.json"), &facts.providers, &catalogue, &mut report)?;
    write_if_changed(&data.join("LICENSE-models"), &licence(&facts.source, &facts.generated_at))?;
    let table = root.join("crates/pi-ai/src/catalog/files.rs");
    write_if_changed(&table, &embedding(catalogue.keys()))?;
    Ok(report.to_text(&facts.source))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Facts {
    source: String,
    generated_at: String,
    providers: Vec<Map<String, Value>>,
    models: Vec<Map<String, Value>>,
}

/// Rows of one provider, by model id.
type Rows = BTreeMap<String, String>;

#[derive(Default)]
struct Report {
    added: Vec<String>,
    removed: Vec<String>,
    changed: Vec<String>,
    /// Models that do not chat, by type.
    left_out: BTreeMap<String, usize>,
    /// Dropped headers, by name.
    dropped_headers: BTreeMap<String, usize>,
    notes: Vec<String>,
}

impl Report {
    fn to_text(&self, source: &str) -> String {
        let mut text = format!("catalogue from {source}\n");
        for (title, names) in
            [("added", &self.added), ("removed", &self.removed), ("changed", &self.changed)]
        {
            let _ = writeln!(text, "{title}: {}", names.len());
            for name in names.iter().take(SHOWN) {
                let _ = writeln!(text, "  {name}");
            }
            if names.len() > SHOWN {
                let _ = writeln!(text, "  and {} more; see git diff", names.len() - SHOWN);
            }
        }
        for (kind, count) in &self.left_out {
            let _ = writeln!(text, "left out: {count} models of type {kind}");
        }
        for (header, count) in &self.dropped_headers {
            let _ =
                writeln!(text, "dropped header {header} (names another product): {count} models");
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }
}

fn sort_models(
    models: Vec<Map<String, Value>>,
    report: &mut Report,
) -> Result<BTreeMap<String, Rows>> {
    let mut catalogue: BTreeMap<String, Rows> = BTreeMap::new();
    for mut model in models {
        let kind = model.shift_remove("type").unwrap_or_else(|| "chat".into());
        let id = text_field(&model, "id")?;
        let provider = text_field(&model, "provider")?;
        if !is_plain(&provider) {
            bail!("provider id {provider:?} cannot be a file name");
        }
        if kind != "chat" {
            *report.left_out.entry(kind.as_str().unwrap_or("?").to_owned()).or_default() += 1;
            continue;
        }
        drop_foreign_headers(&mut model, report);
        let row = serde_json::to_string(&id_first(model))?;
        if catalogue.entry(provider.clone()).or_default().insert(id.clone(), row).is_some() {
            bail!("{provider}/{id} is listed twice");
        }
    }
    Ok(catalogue)
}

fn text_field(object: &Map<String, Value>, name: &str) -> Result<String> {
    match object.get(name).and_then(Value::as_str) {
        Some(text) => Ok(text.to_owned()),
        None => bail!("an entry has no {name}: {}", Value::Object(object.clone())),
    }
}

fn is_plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn drop_foreign_headers(model: &mut Map<String, Value>, report: &mut Report) {
    let Some(Value::Object(headers)) = model.get_mut("headers") else { return };
    headers.retain(|name, _| {
        let foreign = FOREIGN_IDENTITY.contains(&name.to_ascii_lowercase().as_str());
        if foreign {
            *report.dropped_headers.entry(name.clone()).or_default() += 1;
        }
        !foreign
    });
    if headers.is_empty() {
        model.shift_remove("headers");
    }
}

/// A row opens with its id, so that it can be found without parsing the others.
fn id_first(model: Map<String, Value>) -> Map<String, Value> {
    let (mut row, rest): (Map<_, _>, Map<_, _>) = model.into_iter().partition(|(k, _)| k == "id");
    row.extend(rest);
    row
}

fn write_models(
    folder: &Path,
    catalogue: &BTreeMap<String, Rows>,
    report: &mut Report,
) -> Result<()> {
    fs::create_dir_all(folder)?;
    let mut before = read_models(folder)?;
    for (provider, rows) in catalogue {
        compare(provider, &before.remove(provider).unwrap_or_default(), rows, report);
        let rows: Vec<&String> = rows.values().collect();
        write_if_changed(&folder.join(format!("{provider}.json")), &array(&rows))?;
    }
    for (provider, rows) in &before {
        compare(provider, rows, &Rows::new(), report);
        fs::remove_file(folder.join(format!("{provider}.json")))?;
    }
    Ok(())
}

fn read_models(folder: &Path) -> Result<BTreeMap<String, Rows>> {
    let mut catalogue = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(provider) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let text = fs::read_to_string(&path)?;
        let models: Vec<Map<String, Value>> =
            serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        let mut rows = Rows::new();
        for model in models {
            rows.insert(text_field(&model, "id")?, serde_json::to_string(&model)?);
        }
        catalogue.insert(provider.to_owned(), rows);
    }
    Ok(catalogue)
}

fn compare(provider: &str, before: &Rows, after: &Rows, report: &mut Report) {
    let ids: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for id in ids {
        let list = match (before.get(id), after.get(id)) {
            (None, _) => &mut report.added,
            (_, None) => &mut report.removed,
            (Some(old), Some(new)) if old != new => &mut report.changed,
            _ => continue,
        };
        list.push(format!("{provider}/{id}"));
    }
}

/// Writes the facts of each provider, keeping order and fields that people maintain.
fn write_providers(
    path: &Path,
    facts: &[Map<String, Value>],
    catalogue: &BTreeMap<String, Rows>,
    report: &mut Report,
) -> Result<()> {
    let text = fs::read_to_string(path).unwrap_or_else(|_| "[]".to_owned());
    let kept: Vec<Map<String, Value>> =
        serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    let mut facts_by_id = BTreeMap::new();
    for provider in facts {
        facts_by_id.insert(text_field(provider, "id")?, provider_facts(provider, catalogue)?);
    }
    let mut rows = Vec::new();
    for old in kept {
        let id = text_field(&old, "id")?;
        let Some(mut row) = facts_by_id.remove(&id) else {
            report.notes.push(format!("provider {id} is gone from the source and was removed"));
            continue;
        };
        let by_hand = old.into_iter().filter(|(name, _)| !PROVIDER_FACTS.contains(&name.as_str()));
        row.extend(by_hand);
        rows.push(row);
    }
    for (id, mut row) in facts_by_id {
        report.notes.push(format!("provider {id} is new: add its keys and default model by hand"));
        row.insert("keys".to_owned(), Value::Array(Vec::new()));
        rows.push(row);
    }
    for row in &rows {
        check_default_model(row, catalogue, report);
    }
    let rows = rows.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    write_if_changed(path, &array(&rows.iter().collect::<Vec<_>>()))
}

fn provider_facts(
    provider: &Map<String, Value>,
    catalogue: &BTreeMap<String, Rows>,
) -> Result<Map<String, Value>> {
    let id = text_field(provider, "id")?;
    let mut apis = BTreeSet::new();
    for row in catalogue.get(&id).into_iter().flat_map(BTreeMap::values) {
        apis.insert(text_field(&serde_json::from_str(row)?, "api")?);
    }
    let mut row = Map::new();
    for name in ["id", "name", "baseUrl"] {
        if let Some(value) = provider.get(name) {
            row.insert(name.to_owned(), value.clone());
        }
    }
    row.insert("apis".to_owned(), apis.into_iter().map(Value::from).collect());
    let auth = provider.get("auth");
    for (ours, theirs) in [("keyName", "apiKey"), ("login", "oauth")] {
        if let Some(value) = auth.and_then(|auth| auth.get(theirs)) {
            row.insert(ours.to_owned(), value.clone());
        }
    }
    Ok(row)
}

fn check_default_model(
    row: &Map<String, Value>,
    catalogue: &BTreeMap<String, Rows>,
    report: &mut Report,
) {
    let id = row.get("id").and_then(Value::as_str).unwrap_or_default();
    let Some(models) = catalogue.get(id) else { return };
    match row.get("defaultModel").and_then(Value::as_str) {
        Some(model) if models.contains_key(model) => {}
        Some(model) => {
            report
                .notes
                .push(format!("provider {id}: default model {model} is gone; choose another"));
        }
        None => report.notes.push(format!("provider {id} has no default model; choose one")),
    }
}

fn array(rows: &[&String]) -> String {
    let rows: Vec<&str> = rows.iter().map(|row| row.as_str()).collect();
    format!("[\n{}\n]\n", rows.join(",\n"))
}

fn embedding<'a>(providers: impl Iterator<Item = &'a String>) -> String {
    let mut text = String::from(
        "//! The embedded model files, by provider id, sorted. Written by `cargo xtask models`.\n\n\
         #[rustfmt::skip]\n\
         pub(super) static FILES: &[(&str, &str)] = &[\n",
    );
    for provider in providers {
        let _ = writeln!(
            text,
            "    (\"{provider}\", include_str!(\"../../data/models/{provider}.json\")),"
        );
    }
    text.push_str("];\n");
    text
}

fn licence(source: &str, generated_at: &str) -> String {
    format!(
        "The files in models/ and the names, addresses and protocols in providers.json hold facts from\n\
         {source} (data of {generated_at}), which is distributed under this licence:\n\n{SOURCE_LICENCE}"
    )
}

const SOURCE_LICENCE: &str = include_str!("models/source-licence.txt");

fn write_if_changed(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests;
