import Testing

@testable import Rules

@Suite struct RuleCheckTests {
    @Test(arguments: [
        (
            "name: a, when: {type: task}, then: [{merge: {state: open}}]",
            "3:34: warning: rule 'a': it still matches after it has fired, so it fires again on every change "
                + #"of the document; add `unless: { state: { $eq: "open" } }`"#
        ),
        ("name: a, when: {}, then: [{merge: {state: open, box: {n: 1}}}]", "box.n: { $eq: 1 } }`"),
        (
            "name: a, when: {type: order}, then: [{webhook: {url: 'http://h', response: {merge: {id: {jq: $response.body.id}}}}}]",
            "it still matches after the answer is written, so it sends again until the document becomes a dead "
                + "letter (rule chain); "
                + "add `id: { $exists: false }` to `when`"
        ),
        (
            "name: a, when: {type: task}, then: [{attach: {name: i.png, file: FILE}}]",
            #"add `_attachments.i\.png: { $exists: false }` to `when`"#
        ),
        ("name: a, when: {type: task}, then: [{detach: i}]", "add `_attachments.i: { $exists: true }` to `when`"),
        (
            "name: a, when: {type: task}, then: [{merge: {at: {jq: $now}}}]",
            "3:34: warning: rule 'a': it still matches after it has fired"
        ),
        ("name: a, when: {type: task}, then: [{merge: {at: null}}]", "add `at: { $exists: true }` to `when`"),
        (
            "name: a, when: {state: {$in: [a, b]}}, then: [{merge: {state: b}}]",
            "it still matches after it has fired"
        ),
        (
            "name: a, when: {box: {$exists: true}}, then: [{merge: {box: {n: 1}}}]",
            "it still matches after it has fired"
        ),
        (
            "name: a, when: {t: 1}, unless: {s: b}, then: [{merge: {s: c}}]",
            "add a condition to `when` that is false afterwards"
        ),
        (
            "name: a, when: {t: 1}, then: [{patch: [{op: add, path: /a~1b, value: 2}]}, {put: {id: x, document: {}}}]",
            "add `unless: { \"a/b\": { $eq: 2 } }`"
        ),
        (
            "name: a, when: {$or: [{t: 1}, {s: b}]}, then: [{merge: {s: b}}]",
            "it still matches after it has fired"
        ),
    ])
    func ruleThatStillMatchesItsResultIsReported(rule: String, warning: String) throws {
        let found = try warnings([rule])
        #expect(found.count == 1 && found.allSatisfy { $0.contains(warning) }, "\(found)")
    }

    @Test(arguments: [
        // A clause becomes false, or `unless` becomes true.
        "name: a, when: {type: task, state: {$exists: false}}, then: [{merge: {state: open}}]",
        "name: a, when: {type: task, state: {$ne: open}}, then: [{merge: {state: open}}]",
        "name: a, when: {type: task}, unless: {state: open}, then: [{merge: {state: open}}]",
        "name: a, when: {type: task}, unless: {state: {$exists: true}}, then: [{merge: {state: open}}]",
        "name: a, when: {_attachments.image: {$exists: false}}, then: [{attach: {name: image, file: FILE}}]",
        "name: a, when: {_attachments: {$exists: false}}, then: [{attach: {name: image, file: FILE}}]",
        "name: a, when: {_attachments.image: {$exists: true}}, then: [{detach: image}]",
        "name: a, when: {box: {$exists: false}}, then: [{merge: {box: {n: 1}}}]",
        "name: a, when: {box.n: 1}, then: [{merge: {box: null}}]",
        "name: a, when: {box.n: 1}, then: [{merge: {box: text}}]",
        "name: a, when: {$or: [{a: {$exists: false}}, {b: {$exists: false}}]}, then: [{merge: {a: 1, b: 1}}]",
        // A program may make a clause false.
        "name: a, when: {type: task, at: {$exists: false}}, then: [{merge: {at: {jq: $now}}}]",
        "name: a, when: {type: task, at: {$gt: 1, $type: number}}, then: [{merge: {at: {jq: .at - 1}}}]",
        "name: a, when: {type: task}, then: [{merge: {jq: .x}}]",
        "name: a, when: {type: task}, then: [{patch: {jq: .x}}]",
        "name: a, when: {tags: {$elemMatch: {$eq: x}}}, then: [{patch: [{op: remove, path: /tags/0}]}]",
        // Another condition also decides.
        "name: a, when: {type: task}, if: .a > .b, then: [{merge: {state: open}}]",
        "name: a, when: {t: 1}, then: [{patch: [{op: test, path: /s, value: 1}, {op: remove, path: /s}]}]",
        // The document itself does not change.
        "name: a, when: {type: task}, then: []",
        "name: a, when: {type: task}, then: [{delete: {}}]",
        "name: a, when: {type: task}, then: [{put: {id: x, document: {type: log}}}]",
    ])
    func ruleThatStopsFiringIsAccepted(rule: String) throws {
        #expect(try warnings([rule]) == [])
    }

    @Test(arguments: [
        ("{a: x, $and: [{a: y}]}", #"3:35: warning: rule 'a': it never fires: `a: { $eq: "x" }` (line 3) and "#),
        (
            "{a: {$eq: 5, $gt: 7}}",
            "3:33: warning: rule 'a': it never fires: `a: { $eq: 5 }` (line 3) and `a: { $gt: 7 }` never"
        ),
        ("{a: apple, $not: {a: apple}}", "one condition requires a value that does not satisfy the other"),
        ("{a: apple, $and: [{a: {$regex: ^b}}]}", "one condition requires a value that does not satisfy the other"),
        ("{a: {$exists: false, $ne: 1}}", "the other condition needs 'a' to exist"),
        ("{a: {$exists: false}, a.b: 1}", "the other condition needs 'a' to exist"),
        ("{a: {$gt: 5, $lt: 3}}", "no value lies between them; swap the limits, or combine them with $or"),
        ("{a: {$gt: 5, $lte: 5}}", "no value lies between them"),
        ("{a: {$lt: x, $gte: y}}", "no value lies between them"),
        ("{a: {$type: number, $regex: x}}", "no value has both types"),
        ("{a: {$type: string, $mod: [2, 1]}}", "no value has both types"),
        ("{a: {$type: object, $size: 2}}", "no value has both types"),
        ("{a: {$beginsWith: x, $elemMatch: {$eq: 1}}}", "no value has both types"),
        ("{a: {$keyMapMatch: {$eq: x}, $all: [1]}}", "no value has both types"),
        ("{a: {$gt: 5, $lt: 9, $type: boolean}}", "no value has both types"),
        ("{a: {$regex: x, $not: {$type: string}}}", "no value has both types"),
        ("{a: {$type: number, $not: {$type: number}}}", "one is the opposite of the other"),
        (
            "{a: {$in: []}}",
            "3:25: warning: rule 'a': it never fires: `a: { $in: [] }` never holds: an empty list matches nothing"
        ),
        ("{a: {$all: []}}", "with an empty list it is always false"),
        ("{a: {$mod: [3, 3]}}", "a remainder is smaller than its divisor"),
        ("{a: {$mod: [0, 1]}}", "dividing by 0 makes the document a dead letter"),
        ("{a: {$lt: null}}", "nothing is less than null"),
        ("{a: {$size: 1, $eq: [1, 2]}}", "one condition requires a value that does not satisfy the other"),
        ("{a: {$size: 1, $not: {$size: 1}}}", "one is the opposite of the other"),
        ("{$and: [{a: {$size: 1}}, {a: {$size: 2}}]}", "a list has only one size"),
        ("{a: {$size: 0, $elemMatch: {$eq: 1}}}", "an empty list has no elements"),
        ("{$and: [{a: {$beginsWith: x}}, {a: {$beginsWith: y}}]}", "no string begins with both"),
        ("{a: {$in: [x, y], $nin: [y, x, z]}}", "each value of one list is in the other"),
        ("{a: {$in: [x, y], $regex: ^z}}", "none of the values satisfies the other"),
        ("{a: x, a.b: {$exists: false}}", "one condition requires a value without members"),
        ("{a: {$type: array}, a.b: 1}", "a list has positions, counted from 0, and no members"),
        ("{a: {$size: 2}, a.2: 1}", "positions count from 0"),
        ("{a: {$eq: {b: 1}}, a.b: 2}", "one condition requires a value that does not satisfy the other"),
        ("{a: {$eq: {b: 1}}, a.c: 2}", "one condition requires a value that has no 'a.c'"),
        (
            "{_id: 5}",
            "3:21: warning: rule 'a': it never fires: `_id: { $eq: 5 }` never holds: this member is always text"
        ),
        ("{_attachments: image}", "this member is always an object; test its members: _attachments.NAME"),
        (
            "{_deleted: true}",
            "a changed document has no _deleted; remove `_deleted: { $eq: true }`, or write on: [delete]"
        ),
        ("{_deleted: {$ne: true}}", "a changed document has no _deleted"),
        ("{a: {$elemMatch: {b: 1, $and: [{b: 2}]}}}", "`b: { $eq: 1 }` and `b: { $eq: 2 }` never hold together"),
        ("{a: {$elemMatch: {$gt: 5, $lt: 3}}}", "`$gt: 5` and `$lt: 3` never hold together: no value lies between"),
    ])
    func contradictionsAreFound(when: String, warning: String) throws {
        let found = try selectorWarnings(when)
        #expect(found.count == 1 && found.allSatisfy { $0.contains(warning) }, "\(found)")
        #expect(found.allSatisfy { $0.contains("it never fires") })
    }

    @Test(arguments: [
        ("name: a, when: {t: 1}, unless: {}, then: []", "3:28: warning: rule 'a': it never fires: `unless: {}`"),
        ("name: a, when: {t: 1, s: 2}, unless: {s: 2}, then: []", "3:34: warning: rule 'a': it never fires: `unless`"),
        (
            "name: a, when: {t: 5}, unless: {$or: [{s: 1}, {t: {$gt: 3, $lt: 9}}]}, then: []",
            "`unless` is true whenever `when` is true"
        ),
        ("name: a, when: {t: 5}, unless: {t: {$exists: true}}, then: []", "`unless` is true whenever `when` is true"),
        (
            "name: a, when: {t: 5}, unless: {s: {$gt: 3, $lt: 2}}, then: []",
            "`unless` excludes nothing: `s: { $gt: 3 }`"
        ),
        (
            "name: a, on: [delete], when: {type: task}, then: []",
            "3:35: warning: rule 'a': a tombstone has 'type' only if the deletion writes it"
        ),
        (
            "name: a, on: [delete, change], when: {_id: x}, unless: {$or: [{box.n: 1}]}, then: []",
            "'box' only if the deletion writes it (never on Sync Gateway 4); if deletions don't write it, test only "
                + "_id, or remove delete from `on`"
        ),
    ])
    func unlessAndTombstonesAreChecked(rule: String, warning: String) throws {
        let found = try warnings([rule])
        #expect(found.count == 1 && found.allSatisfy { $0.contains(warning) }, "\(found)")
    }

    @Test(arguments: [
        "{type: task, n: {$gt: 1, $lt: 2}}",
        "{a: {$gte: 5, $lte: 5}}",
        "{a: {$gt: 5, $ne: 6, $type: number}}",
        "{a: {$in: [1, 2], $nin: [2]}}",
        "{$and: [{a: {$in: [1, 2]}}, {a: {$in: [3]}}]}",
        "{a: {$in: [[1], x], $size: 1}}",
        "{a: {$in: [x, y], $regex: ^y}}",
        "{a: {$eq: 5.0, $mod: [2, 1]}}",
        "{a: {$all: [1, 2], $size: 2}}",
        "{a: {$exists: false}, a.b: {$exists: false}}",
        "{a: {$exists: true}, a.b: {$exists: false}}",
        "{a: {$type: array}, a.0: x}",
        "{a: {$elemMatch: {_id: 5}}}",
        "{a: {$beginsWith: x, $gt: x}}",
        "{$and: [{a: {$beginsWith: ab}}, {a: {$beginsWith: abc}}]}",
        "{$or: [{a: 1}, {a: 2}]}",
        "{$or: [{a: {$gt: 5, $type: number}}, {a: {$lt: 3}}]}",
        "{a: {$lt: false}}",
        "{_id: {$gt: task}, _attachments: {$exists: true}}",
        "{_deleted: {$exists: false}}",
        "{at: {$gte: '2026-01-01', $lt: '2027-01-01T00:00:00Z'}}",
        "{a: {$not: {$type: string}}, b: {$not: {$regex: ^x}}}",
        "{a: {$ne: null, $type: object}, a.b: 1}",
    ])
    func satisfiableSelectorsAreAccepted(when: String) throws {
        #expect(try selectorWarnings(when) == [])
        #expect(try warnings(["name: a, on: [change], when: \(when), unless: {other: 1}, then: []"]) == [])
    }

    @Test func typicalRulesAreAccepted() throws {
        #expect(
            try warnings([
                """
                name: attach-pictures, when: {type: task, task: {$regex: "(?i)^(apple|coffee|potatoes)$"}, \
                _attachments.image: {$exists: false}}, then: [{attach: {name: image, \
                file: {jq: '.task | ascii_downcase + ".png"'}, folder: FOLDER, content_type: image/png}}]
                """,
                "name: created, when: {type: task, at: {$exists: false}}, then: [{merge: {jq: '{at: $now}'}}]",
                "name: slug, when: {task: {$regex: ' '}, slug: {$exists: false}}, then: [{merge: {slug: {jq: .task}}}]",
                "name: done, when: {done: true, doneAt: {$exists: false}}, then: [{merge: {doneAt: {jq: $now}}}]",
                "name: not-done, when: {done: false, doneAt: {$exists: true}}, then: [{merge: {doneAt: null}}]",
                "name: move, when: {title: {$exists: true}}, then: [{patch: [{op: move, from: /title, path: /task}]}]",
                "name: old, when: {type: task, dueAt: {$gte: '', $lt: '2020-01-01'}}, if: .done, then: [{delete: {}}]",
                "name: log, on: [delete], when: {_id: {$gt: task}}, then: [{put: {id: x, document: {a: 1}}}]",
                "name: count, when: {type: task, tags: {$elemMatch: {$in: [red, green]}}}, then: []",
            ]) == [])
    }

    @Test func shippedRulesHaveNoWarnings() throws {
        let path = #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined() + "/rules/attach-images.yaml"
        let rules = RuleFile(path: path, bytes: try FileBytes.read(path, limit: 1 << 20)).rules
        #expect(!rules.isEmpty)
        #expect(RuleChecker(rules.map { ($0, RulePrediction(of: $0)) }).warnings == [])
    }
}
