use std::os::unix::fs::symlink;

use super::*;
use crate::env::{FileKind, Walk, WalkOptions};

fn planted() -> Bed {
    let bed = Bed::new();
    fs::create_dir_all(bed.path("b/deep")).unwrap();
    fs::create_dir_all(bed.path(".git")).unwrap();
    for name in ["a", "b/one", "b/deep/x", "b.txt", ".git/config"] {
        bed.put(name, "");
    }
    symlink("..", bed.path("b/up")).unwrap();
    bed
}

fn told(bed: &Bed, walk: &Walk) -> Vec<String> {
    let short = |path: &Path| path.strip_prefix(bed.env.cwd()).unwrap().display().to_string();
    walk.entries.iter().map(|(path, _)| short(path)).collect()
}

#[tokio::test]
async fn a_walk_goes_down_in_order_and_follows_no_link() {
    let bed = planted();
    let walk = bed.env.walk(bed.env.cwd(), WalkOptions::all(100)).await.unwrap();
    assert_eq!(
        told(&bed, &walk),
        [".git", ".git/config", "a", "b", "b/deep", "b/deep/x", "b/one", "b/up", "b.txt"]
    );
    assert!(!walk.is_cut && walk.problems.is_empty());
    assert!(walk.entries.contains(&(bed.path("b/up"), FileKind::Link)));
}

#[tokio::test]
async fn what_is_not_kept_is_not_entered() {
    let bed = planted();
    let visible = |path: &Path, _| !path.file_name().unwrap().to_str().unwrap().starts_with('.');
    let options = WalkOptions { limit: 100, keep: &visible };
    let walk = bed.env.walk(&bed.path("."), options).await.unwrap();
    assert!(walk.entries.iter().all(|(path, _)| visible(path, FileKind::File)));
    assert_eq!(walk.entries.len(), 7);
}

#[tokio::test]
async fn a_walk_stops_at_its_limit_and_says_so() {
    let bed = planted();
    let walk = async |limit| {
        let walk = bed.env.walk(bed.env.cwd(), WalkOptions::all(limit)).await.unwrap();
        (walk.entries.len(), walk.is_cut)
    };
    assert_eq!(walk(0).await, (0, true));
    assert_eq!(walk(3).await, (3, true));
    assert_eq!(walk(9).await, (9, false));
}

#[tokio::test]
async fn a_folder_that_goes_away_meanwhile_is_a_problem_and_a_missing_root_an_error() {
    let bed = planted();
    let root = bed.path("");
    let removed = |path: &Path, _| {
        if path.ends_with("b/deep") {
            fs::remove_dir_all(path).unwrap();
        }
        true
    };
    let options = WalkOptions { limit: 100, keep: &removed };
    let walk = bed.env.walk(&root, options).await.unwrap();
    let [problem] = &*walk.problems else { panic!("{:?}", walk.problems) };
    assert_eq!((problem.kind, &problem.path), (EnvErrorKind::NotFound, &bed.path("b/deep")));
    assert!(walk.entries.iter().any(|(path, _)| path.ends_with("b/one")));
    let missing = bed.env.walk(&bed.path("no"), WalkOptions::all(1)).await;
    assert_eq!(what(missing), (Operation::List, EnvErrorKind::NotFound));
}
