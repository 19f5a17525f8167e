import LosslessJSON
import Rules
import Testing

/// Conflict resolution by policy, without a server.
@Suite struct ConflictPoliciesTests {
    /// `leaf("c a", …)` is `2-c`, after `1-a`.
    private func leaf(_ history: String, _ members: String) throws -> ConflictLeaf {
        let digests = history.split(separator: " ")
        let list = digests.map { "\"\($0)\"" }.joined(separator: ",")
        let text =
            #"{"_id":"d","_rev":"\#(digests.count)-\#(digests[0])","_revisions":{"start":\#(digests.count),"ids":[\#(list)]}\#(members)}"#
        return try #require(ConflictLeaf(try JSONText(text)))
    }

    /// Two leaves of `1-a`: `2-c`, which wins, and `2-b`.
    private func pair(_ winner: String, _ other: String) throws -> Conflict {
        Conflict([try leaf("b a", other), try leaf("c a", winner)])
    }

    private func resolve(
        _ conflict: Conflict, _ policies: String..., ancestor: String? = nil, ancestors: [String: String] = [:],
        isDeleted: Bool = false
    ) async throws -> String {
        let policies = try ConflictPolicies(policies, dateMember: "updatedAt")
        let policy = try #require(policies.policy(of: conflict))
        let resolution = await policies.resolve(
            conflict, by: policy, ancestors: try texts(ancestor, ancestors), isDeleted: isDeleted, now: 0)
        switch resolution {
        case .keep(let leaf): return conflict.leaves[leaf].revision
        case .delete: return "delete"
        case .leave(let reason): return reason
        case .write(let document):
            let attachments = document.attachments.map { " \($0.name) of \(conflict.leaves[$0.leaf].revision)" }
            return String(decoding: document.members.bytes, as: UTF8.self) + attachments.joined()
        }
    }

    private func texts(_ first: String?, _ others: [String: String]) throws -> [String: JSONText] {
        var texts = others
        texts["1-a"] = first
        return try texts.mapValues { try JSONText($0) }
    }

    // MARK: - Design documents

    /// Regression: `resolve --policy merge` combined the views of two versions.
    @Test(arguments: ["merge", "winner", "last-update-wins", "jq:.[0]"])
    func designDocumentIsLeftAloneUnlessItIsNamed(policy: String) async throws {
        func leaf(_ digest: String, _ views: String) throws -> ConflictLeaf {
            let text =
                #"{"_id":"_design/c","_rev":"2-\#(digest)","_revisions":{"start":2,"ids":["\#(digest)","a"]},"views":\#(views)}"#
            return try #require(ConflictLeaf(try JSONText(text)))
        }
        var policies = try ConflictPolicies([policy], dateMember: "updatedAt")
        policies.decideDesignDocuments = false
        let conflict = Conflict([try leaf("b", #"{"x":{}}"#), try leaf("c", #"{"y":{}}"#)])
        let by = try #require(policies.policy(of: conflict))
        let left = await policies.resolve(conflict, by: by, ancestors: [:], isDeleted: false, now: 0)
        guard case .leave(let reason) = left else {
            Issue.record("decided: \(left)")
            return
        }
        #expect(reason.contains(#"name it in --selector: {"_id":"_design/c"}"#))
        let same = Conflict([try leaf("b", "{}"), try leaf("c", "{}")])
        guard case .keep(0) = await policies.resolve(same, by: by, ancestors: [:], isDeleted: false, now: 0) else {
            Issue.record("equal versions are left in conflict")
            return
        }
        policies.decideDesignDocuments = true
        if case .leave = await policies.resolve(conflict, by: by, ancestors: [:], isDeleted: false, now: 0) {
            Issue.record("left alone although it is named")
        }
    }

    // MARK: - Merge

    @Test func editsOfDifferentMembersAreMerged() async throws {
        let conflict = try pair(#","task":"Apples","complete":false"#, #","task":"apple","complete":true"#)
        let ancestor = #"{"_id":"d","task":"apple","complete":false}"#
        #expect(try await resolve(conflict, "merge", ancestor: ancestor) == #"{"task":"Apples","complete":true}"#)
    }

    @Test func threeLeavesAreMerged() async throws {
        let conflict = Conflict([
            try leaf("b a", #","x":1,"y":0,"z":0"#), try leaf("c a", #","x":0,"y":1,"z":0"#),
            try leaf("d a", #","x":0,"y":0,"z":1"#),
        ])
        #expect(try await resolve(conflict, "merge", ancestor: #"{"x":0,"y":0,"z":0}"#) == #"{"x":1,"y":1,"z":1}"#)
    }

    /// The branches split at `1-a`, and each of them splits again.
    @Test func leavesAreMergedWhereTheyBranched() async throws {
        let conflict = Conflict([
            try leaf("d b a", #","x":1,"y":1,"z":0"#), try leaf("c b a", #","x":1,"y":0,"z":1"#),
            try leaf("g e a", #","x":0,"y":0,"z":0,"w":1,"v":1"#), try leaf("f e a", #","x":0,"y":0,"z":0,"w":2"#),
        ])
        #expect(conflict.branchings == ["1-a", "2-b", "2-e"])
        let ancestors = ["2-b": #"{"x":1,"y":0,"z":0}"#, "2-e": #"{"x":0,"y":0,"z":0,"w":1}"#]
        let merged = try await resolve(conflict, "merge", ancestor: #"{"x":0,"y":0,"z":0}"#, ancestors: ancestors)
        #expect(merged == #"{"x":1,"y":1,"z":1,"w":2,"v":1}"#)
    }

    @Test func memberRemovedByOneSideIsRemoved() async throws {
        let conflict = try pair(#","a":1"#, #","a":1,"b":2,"c":3"#)
        #expect(try await resolve(conflict, "merge", ancestor: #"{"a":1,"b":2}"#) == #"{"a":1,"c":3}"#)
    }

    @Test func laterUpdateWinsIfBothChangedAMember() async throws {
        let earlier = #","a":1,"n":{"x":1,"y":0},"updatedAt":"2026-11-20T10:00:00Z""#
        let later = #","a":2,"n":{"x":0,"y":1},"updatedAt":"2026-11-20T10:00:00.5Z""#
        let ancestor = #"{"a":0,"n":{"x":0,"y":0},"updatedAt":"2026-11-01T10:00:00Z"}"#
        let merged = #"{"a":2,"n":{"x":1,"y":1},"updatedAt":"2026-11-20T10:00:00.5Z"}"#
        #expect(try await resolve(pair(earlier, later), "merge", ancestor: ancestor) == merged)
    }

    /// CouchDB compressed the bytes at two levels, so the digests differ.
    @Test func attachmentsWithTheSameBytesDoNotConflict() async throws {
        func stub(_ digest: String) -> String {
            #","_attachments":{"x":{"content_type":"text/plain","digest":"md5-\#(digest)","length":9,"stub":true}}"#
        }
        var conflict = try pair(#","a":1"# + stub("A"), #","a":1"# + stub("B"))
        let reason = "its leaves differ in 'x', and neither their common ancestor nor dates"
        #expect(try await resolve(conflict, "merge").hasPrefix(reason))
        conflict.equalDigests = ["md5-B": "md5-A"]
        #expect(try await resolve(conflict, "merge") == "2-c")
        // The winner changed nothing.
        conflict = try pair(#","a":1"# + stub("A"), #","a":1"# + stub("C"))
        conflict.equalDigests = ["md5-B": "md5-A"]
        let ancestor = #"{"a":1\#(stub("B"))}"#
        #expect(try await resolve(conflict, "merge", ancestor: ancestor) == "2-b")
    }

    @Test func winnerWinsWithoutDatesIfBothChangedAMember() async throws {
        let conflict = try pair(#","a":1,"b":0"#, #","a":2,"b":1"#)
        #expect(try await resolve(conflict, "merge", ancestor: #"{"a":0,"b":0}"#) == #"{"a":1,"b":1}"#)
    }

    @Test func mergeWithoutAncestorLosesNothing() async throws {
        let conflict = try pair(#","a":1,"b":2"#, #","a":1,"c":3"#)
        #expect(try await resolve(conflict, "merge") == #"{"a":1,"b":2,"c":3}"#)
    }

    /// Only one side may have changed it.
    @Test func datesDecideDifferencesWithoutAncestor() async throws {
        func reason(_ name: String) -> String {
            "its leaves differ in '\(name)', and neither their common ancestor nor dates in 'updatedAt' show which "
                + "leaf changed it; use 'winner', 'last-update-wins' or 'jq:'"
        }
        #expect(try await resolve(pair(#","a":1"#, #","a":2"#), "merge") == reason("a"))
        #expect(try await resolve(pair(#","o":{"x":1,"n":1}"#, #","o":{"y":1,"n":2}"#), "merge") == reason("n"))
        func picture(_ digest: String) -> String {
            #","_attachments":{"image":{"digest":"md5-\#(digest)","stub":true,"revpos":2}}"#
        }
        #expect(try await resolve(pair(picture("x"), picture("y")), "deletes-win") == reason("image"))
        let early = #","updatedAt":"2026-11-20T10:00:00Z""#
        let late = #","updatedAt":"2026-11-20T11:00:00Z""#
        #expect(try await resolve(pair(#","a":1"# + early, #","a":2,"b":1"# + late), "merge") == "2-b")
        #expect(try await resolve(pair(#","a":1"#, #","a":2"# + late), "merge") == reason("a"))
        #expect(try await resolve(pair(#","a":1"# + late, #","a":2"# + late), "merge") == reason("a"))
        // A member that a known ancestor lacks was added by both.
        #expect(try await resolve(pair(#","a":{"n":1}"#, #","a":{"n":2}"#), "merge", ancestor: "{}") == "2-c")
        // Histories that end before they meet prove nothing.
        let cut = Conflict(
            [try leaf("x", #","a":1"#), try leaf("y", #","a":2"#)].map { leaf in
                ConflictLeaf(leaf.document, revision: leaf.revision.replacing("1-", with: "7-"), after: [])
            })
        #expect(try await resolve(cut, "merge") == reason("a"))
        // Documents created independently have no ancestor.
        #expect(try await resolve(Conflict([leaf("x", #","a":1"#), leaf("y", #","a":2"#)]), "merge") == "1-y")
    }

    @Test func mergeKeepsBytes() async throws {
        let conflict = try pair(
            #","big":12345678901234567890123,"a":1"#, #","big":12345678901234567890123,"p":1.10,"a":0"#)
        let ancestor = #"{"big":12345678901234567890123,"a":0}"#
        #expect(
            try await resolve(conflict, "merge", ancestor: ancestor)
                == #"{"big":12345678901234567890123,"a":1,"p":1.10}"#)
    }

    @Test func leafEqualToTheResultIsKept() async throws {
        let conflict = try pair(#","a":1,"b":0"#, #","a":1,"b":1"#)
        #expect(try await resolve(conflict, "merge", ancestor: #"{"a":0,"b":0}"#) == "2-b")
        #expect(try await resolve(pair(#","a":1"#, #","a":1"#), "merge") == "2-c")
    }

    @Test func mergeKeepsAttachment() async throws {
        let picture = #","_attachments":{"image":{"digest":"md5-x","stub":true,"revpos":2}}"#
        let conflict = try pair(#","a":1"#, #","a":0"# + picture)
        #expect(try await resolve(conflict, "merge", ancestor: #"{"a":0}"#) == #"{"a":1} image of 2-b"#)
        let both = try pair(#","a":1"# + picture, #","a":0,"b":1"# + picture)
        #expect(try await resolve(both, "merge", ancestor: #"{"a":0}"#) == #"{"a":1,"b":1} image of 2-c"#)
    }

    @Test func attachmentRemovedByOneSideIsRemoved() async throws {
        let picture = #","_attachments":{"image":{"digest":"md5-x","stub":true,"revpos":1}}"#
        let conflict = try pair(#","a":1"# + picture, #","a":0"#)
        #expect(try await resolve(conflict, "merge", ancestor: #"{"a":0\#(picture)}"#) == #"{"a":1}"#)
    }

    @Test func duplicateMemberLeavesTheConflict() async throws {
        let conflict = try pair(#","a":1,"a":2"#, #","a":3"#)
        #expect(try await resolve(conflict, "merge").hasPrefix("two members are named 'a'"))
    }

    @Test func veryDeepDocumentsAreMergedSafely() async throws {
        func nested(_ value: Int) -> String {
            #","n":"# + String(repeating: #"{"n":"#, count: 3_000) + "\(value)" + String(repeating: "}", count: 3_000)
        }
        let conflict = try pair(nested(1) + #","a":1"#, nested(2) + #","b":1"#)
        let result = try await resolve(conflict, "merge", ancestor: "{}")
        #expect(result.hasPrefix(#"{"n":{"#))
    }

    // MARK: - The others

    @Test func lastUpdateWins() async throws {
        let later = #","updatedAt":"2026-11-20T10:00:00.25Z""#
        #expect(
            try await resolve(pair(#","updatedAt":"2026-11-20T11:00:00.2+01:00""#, later), "last-update-wins") == "2-b")
        #expect(try await resolve(pair(#","updatedAt":3"#, #","updatedAt":20"#), "last-update-wins") == "2-b")
        #expect(try await resolve(pair("", later), "last-update-wins") == "2-b")
        #expect(try await resolve(pair("", ""), "last-update-wins") == "2-c")
        #expect(
            try await resolve(pair(#","updatedAt":3"#, later), "last-update-wins")
                == "some leaves have a string in 'updatedAt', others a number")
    }

    /// Its leaf counted as the oldest, so a later edit was lost.
    @Test(arguments: [#""20.11.2026""#, #""yesterday""#, "true", #"{"$date":1}"#])
    func lastUpdateWinsLeavesAnUnreadableDateToAPerson(date: String) async throws {
        let conflict = try pair(#","updatedAt":"2026-11-19""#, #","updatedAt":\#(date)"#)
        let reason = try await resolve(conflict, "last-update-wins")
        #expect(reason.hasPrefix("'updatedAt' of the leaf 2-b is \(date), which is "), "\(reason)")
        #expect(try await resolve(conflict, "merge", ancestor: "{}") == "2-c")
    }

    @Test func everyISO8601FormIsADate() async throws {
        let conflict = try pair(#","updatedAt":"2026-W47-5""#, #","updatedAt":"20261120T1000Z""#)
        #expect(try await resolve(conflict, "last-update-wins") == "2-b")
    }

    @Test func winnerIsTheServersWinner() async throws {
        #expect(try await resolve(pair("", ""), "winner") == "2-c")
        let longer = Conflict([try leaf("c a", ""), try leaf("b2 b a", "")])
        #expect(try await resolve(longer, "winner") == "3-b2")
        let tenth = Conflict([try leaf("x 8 7 6 5 4 3 2 1 0", ""), try leaf("y 7 6 5 4 3 2 1 0", "")])
        #expect(try await resolve(tenth, "winner") == "10-x")
    }

    @Test func policyDependsOnTheType() async throws {
        let task = try pair(#","type":"task""#, #","type":"task","a":1"#)
        let list = try pair(#","type":"list""#, #","type":"list","a":1"#)
        #expect(try await resolve(task, "winner", "task=merge") == "2-b")
        #expect(try await resolve(list, "winner", "task=merge") == "2-c")
        #expect(try ConflictPolicies(["task=merge"], dateMember: "d").policy(of: list) == nil)
        #expect(try await resolve(list, "set-aside") == "its policy is 'set-aside'")
    }

    @Test func validDeletionWins() async throws {
        let conflict = try pair(#","a":1"#, #","b":1"#)
        #expect(try await resolve(conflict, "deletes-win", isDeleted: true) == "delete")
        #expect(try await resolve(conflict, "deletes-win") == #"{"a":1,"b":1}"#)
    }

    @Test func deletionsOfAnEditedRevisionAreFound() throws {
        func deletions(_ leaves: ConflictLeaf...) -> [String] {
            Conflict(leaves).deletions.map { "\($0.tombstone.revision) \($0.between.sorted().joined(separator: " "))" }
        }
        let deleted = #","_deleted":true"#
        #expect(try deletions(leaf("b a", deleted), leaf("c a", "")) == ["2-b "])
        #expect(try deletions(leaf("b a", deleted), leaf("e d c a", "")) == ["2-b 2-c 3-d"])
        // A branch that lost an earlier conflict looks the same.
        #expect(try deletions(leaf("x b a", deleted), leaf("c a", "")).isEmpty)
        #expect(try deletions(leaf("b a", deleted), leaf("c a", deleted)).isEmpty)
    }

    // MARK: - jq

    @Test func programMergesAllLeaves() async throws {
        let conflict = try pair(#","n":3"#, #","n":4"#)
        let program = "jq:{_id: .[0]._id, n: (map(.n) | add - ($ancestor.n // 0))}"
        #expect(try await resolve(conflict, program, ancestor: #"{"n":2}"#) == #"{"n":5}"#)
        #expect(try await resolve(conflict, program) == #"{"n":7}"#)
        #expect(try await resolve(conflict, "jq:.[1]") == "2-b")
        #expect(try await resolve(conflict, "jq:null") == "delete")
        #expect(try await resolve(conflict, "jq:empty") == "the program has no output for it")
        #expect(try await resolve(conflict, "jq:.[]") == "the program has several outputs for it")
        #expect(try await resolve(conflict, "jq:1") == "the program's output is neither an object nor null")
        #expect(try await resolve(conflict, #"jq:error("no")"#).hasPrefix("the program fails: "))
    }

    @Test func programChoosesAmongAttachments() async throws {
        func picture(_ digest: String) -> String {
            #","_attachments":{"image":{"digest":"md5-\#(digest)","stub":true,"revpos":2}}"#
        }
        let conflict = try pair(#","n":1"# + picture("x"), #","n":2"# + picture("y"))
        #expect(try await resolve(conflict, "jq:.[0] + {n: 3}") == #"{"n":3} image of 2-c"#)
        #expect(
            try await resolve(conflict, "jq:.[0] + {n: 3, _attachments: .[1]._attachments}")
                == #"{"n":3} image of 2-b"#)
        #expect(try await resolve(conflict, "jq:.[0] + {n: 3, _attachments: {}}") == #"{"n":3}"#)
        #expect(try await resolve(conflict, "jq:.[0] + {n: 3, _attachments: null}") == #"{"n":3}"#)
        let unknown = "the program's output has an attachment whose name and digest match none in the leaves"
        for attachments in [
            "{other: .[0]._attachments.image}", #"{image: {digest: "md5-z", stub: true}}"#, "[]",
            #"{image: (.[0]._attachments.image + {data: "QQ=="})}"#,
        ] {
            #expect(try await resolve(conflict, "jq:.[0] + {_attachments: \(attachments)}") == unknown)
        }
    }

    @Test func programCannotWriteReservedMembers() async throws {
        let conflict = try pair(#","n":1"#, #","n":2"#)
        #expect(
            try await resolve(conflict, "jq:.[0] + {_mine: 1}")
                == "the program's output has '_mine', and names that begin with '_' belong to the server")
        #expect(try await resolve(conflict, #"jq:.[0] + {_id: "e"}"#) == "the program's output has a different '_id'")
    }

    @Test(arguments: [
        ("jq:.[0", "'.[0' is not a jq program: column 4: the program ends too early; write the missing ']'"),
        ("t=jq:.[0] | frst", "'.[0] | frst' is not a jq program: column 8: frst/0 is not defined; did you mean first?"),
        ("jq:.[0] && .[1]", "'.[0] && .[1]' is not a jq program: column 6: '&&' is not allowed here; write 'and'"),
    ])
    func programThatDoesNotCompileNamesPlaceAndRemedy(policy: String, message: String) {
        #expect(throws: ConflictPolicyError(description: message)) { try ConflictPolicies([policy], dateMember: "d") }
    }

    /// `deletes-win` decides between a leaf and a tombstone: the leaf is not its own ancestor.
    @Test func ancestorOfADeletionIsTheDeletedRevision() throws {
        let tombstone = try leaf("x b a", #","_deleted":true"#)
        let one = Conflict([try leaf("d c b a", ""), tombstone])
        #expect(one.commonAncestorWithDeletions == "2-b")
        let two = Conflict([try leaf("d c b a", ""), try leaf("e c b a", ""), tombstone])
        #expect(two.commonAncestor == "3-c" && two.commonAncestorWithDeletions == "2-b")
        #expect(Conflict([try leaf("b a", ""), try leaf("c a", "")]).commonAncestorWithDeletions == "1-a")
    }

    @Test func uncompilableProgramsAreErrors() {
        #expect(throws: ConflictPolicyError.self) { try ConflictPolicies(["jq:{"], dateMember: "d") }
        #expect(
            throws: ConflictPolicyError(
                description: "the program after 'jq:' is empty; '.[0]' keeps the winning revision")
        ) { try ConflictPolicies(["jq: "], dateMember: "d") }
        #expect(throws: ConflictPolicyError(description: "two policies are given for all documents")) {
            try ConflictPolicies(["merge", "winner"], dateMember: "d")
        }
        #expect(throws: ConflictPolicyError(description: "two policies are given for the type 't'")) {
            try ConflictPolicies(["t=merge", "t=winner"], dateMember: "d")
        }
        #expect(throws: ConflictPolicyError.self) { try ConflictPolicies(["newest"], dateMember: "d") }
        #expect(throws: ConflictPolicyError.self) { try ConflictPolicies(["=merge"], dateMember: "d") }
    }
}
