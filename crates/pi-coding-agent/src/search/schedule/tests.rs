use proptest::prelude::*;

use super::*;

/// A folder of files and folders: a position that has children is a folder.
#[derive(Debug, Clone)]
struct Folder(Vec<Option<Self>>);

fn folder() -> impl Strategy<Value = Folder> {
    let leaf = prop::collection::vec(Just(None), 0..4).prop_map(Folder);
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop::collection::vec(prop::option::of(inner), 0..5).prop_map(Folder)
    })
}

fn in_order(folder: &Folder, place: &Place, all: &mut Vec<Place>) {
    for (position, entry) in (0..).zip(&folder.0) {
        let place = place.child(position);
        all.push(place.clone());
        if let Some(below) = entry {
            in_order(below, &place, all);
        }
    }
}

proptest! {
    /// Whatever order threads finish in.
    #[test]
    fn results_come_in_the_order_of_the_tree(
        tree in folder(),
        choices in prop::collection::vec(0_usize..4, 0..200),
    ) {
        let mut schedule = Schedule::new();
        schedule.add(Place::root(), &tree);
        let mut at_work = Vec::new();
        let mut results = Vec::new();
        let mut choices = choices.into_iter().cycle();
        while !schedule.is_finished() {
            let choice = choices.next().unwrap_or(0);
            if at_work.len() <= choice && let Some(job) = schedule.take() {
                at_work.push(job);
                continue;
            }
            let (place, folder) = at_work.swap_remove(choice % at_work.len());
            for (position, entry) in (0..).zip(&folder.0) {
                let child = place.child(position);
                schedule.put(child.clone(), child.clone());
                if let Some(below) = entry {
                    schedule.add(child, below);
                }
            }
            schedule.done(&place);
            results.extend(std::iter::from_fn(|| schedule.next_result()));
        }
        let mut expected = Vec::new();
        in_order(&tree, &Place::root(), &mut expected);
        prop_assert_eq!(results, expected);
        prop_assert_eq!(schedule.held_back(), 0);
    }
}

#[test]
fn the_first_place_is_worked_on_first_and_nothing_overtakes_it() {
    let place =
        |positions: &[u32]| positions.iter().fold(Place::root(), |at, next| at.child(*next));
    let mut schedule = Schedule::new();
    schedule.add(place(&[2]), "c");
    schedule.add(place(&[0]), "a");
    schedule.add(place(&[1, 7]), "b");
    let jobs: Vec<_> = std::iter::from_fn(|| schedule.take()).collect();
    assert_eq!(jobs.iter().map(|(_, job)| *job).collect::<String>(), "abc");
    schedule.put(place(&[2]), "C");
    schedule.done(&place(&[2]));
    schedule.put(place(&[1, 7]), "B");
    schedule.done(&place(&[1, 7]));
    assert_eq!((schedule.next_result(), schedule.held_back()), (None, 2));
    schedule.done(&place(&[0]));
    let results: Vec<_> = std::iter::from_fn(|| schedule.next_result()).collect();
    assert_eq!(results, ["B", "C"]);
    assert!(schedule.is_finished() && !schedule.is_running());
}
