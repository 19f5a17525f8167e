internal import Encodings
internal import JQ
package import LosslessJSON

/// The policies for documents in conflict, by document type.
package struct ConflictPolicies: Sendable {
    static let programPrefix = "jq:"

    /// The policies for the values of the member `type`.
    private var byType: [String: ConflictPolicy] = [:]
    private var general: ConflictPolicy?
    /// The member with the date of the last update.
    private let dateMember: String
    private let pool: JQPool?
    /// Whether the policies also decide design documents, which contain code and indexes. Default: true, as for a rule
    /// that names them.
    package var decideDesignDocuments = true

    /// - Parameters:
    ///   - texts: `POLICY`, for all documents, or `TYPE=POLICY`, for one type. `POLICY` is one of
    ///     ``ConflictPolicy/names``, or `jq:PROGRAM`. At least one.
    ///   - dateMember: The member with a document's date, a text or a number.
    /// - Throws: ``ConflictPolicyError`` for an unknown policy, two policies for the same documents, or a program that
    ///   is empty or does not compile.
    package init(_ texts: [String], dateMember: String) throws(ConflictPolicyError) {
        self.dateMember = dateMember
        var programs: [JQProgram] = []
        for text in texts {
            let (type, policy) = try Self.read(text, &programs)
            var former: ConflictPolicy?
            if let type {
                former = byType.updateValue(policy, forKey: type)
            } else {
                (former, general) = (general, policy)
            }
            guard former == nil else {
                throw ConflictPolicyError(
                    description: "two policies are given for \(type.map { "the type '\($0)'" } ?? "all documents")")
            }
        }
        try Self.check(programs)
        pool = programs.isEmpty ? nil : JQPool(programs: programs)
    }

    private static func read(
        _ text: String, _ programs: inout [JQProgram]
    ) throws(ConflictPolicyError) -> (type: String?, ConflictPolicy) {
        if let policy = policy(text, &programs) { return (nil, policy) }
        if let equals = text.firstIndex(of: "="), equals != text.startIndex,
            let policy = policy(String(text[text.index(after: equals)...]), &programs)
        {
            return (String(text[..<equals]), policy)
        }
        throw ConflictPolicyError(
            description: "there is no policy '\(text)'; write \(ConflictPolicy.names.joined(separator: ", ")) or "
                + "jq:PROGRAM, or TYPE= followed by one of them")
    }

    private static func policy(_ text: String, _ programs: inout [JQProgram]) -> ConflictPolicy? {
        guard text.hasPrefix(programPrefix) else { return ConflictPolicy(name: text) }
        programs.append(JQProgram(String(text.dropFirst(programPrefix.count)), locals: ["ancestor"]))
        return .jq(programs.count - 1)
    }

    private static func check(_ programs: [JQProgram]) throws(ConflictPolicyError) {
        guard !programs.isEmpty else { return }
        let errors: [JQCompileError?]
        do throws(JQError) { errors = try JQCompiler.check(programs.map(\.text), variables: ["ancestor"]) } catch {
            throw ConflictPolicyError(description: "jq programs can't be compiled here: \(error)")
        }
        for (program, error) in zip(programs, errors) {
            if program.text.allSatisfy(\.isWhitespace) {
                throw ConflictPolicyError(
                    description: "the program after 'jq:' is empty; '.[0]' keeps the winning revision")
            }
            guard let error else { continue }
            throw ConflictPolicyError(
                program: program.text,
                ProgramDiagnosis(searching: error, in: program.text, variables: program.locals))
        }
    }

    /// Whether any policy needs the ancestors of the leaves.
    package var needAncestors: Bool {
        general?.needsAncestors == true || byType.values.contains(where: \.needsAncestors)
    }

    /// Whether any policy is ``ConflictPolicy/deletesWin``.
    package var letDeletionsWin: Bool { general == .deletesWin || byType.values.contains(.deletesWin) }

    /// The name of the policy for all documents. Nil if there is none.
    var generalName: String? { general?.name }

    /// The policy for a document, by the type of its winner. Nil if there is none.
    package func policy(of conflict: Conflict) -> ConflictPolicy? {
        let document = conflict.leaves.first ?? conflict.tombstones.first
        return document?.document.root["type"]?.string.flatMap { byType[$0] } ?? general
    }

    /// Resolves the conflict of a document. Unless a deletion wins, at least two leaves must not be deleted.
    ///
    /// - Parameters:
    ///   - ancestors: The documents of ``Conflict/branchings`` that the server still has.
    ///   - isDeleted: Whether one of ``Conflict/deletions`` is still valid; for ``ConflictPolicy/deletesWin``.
    ///   - now: The programs' `$now`.
    package func resolve(
        _ conflict: Conflict, by policy: ConflictPolicy, ancestors: [String: JSONText], isDeleted: Bool,
        now: Int
    ) async -> ConflictResolution {
        if let name = conflict.leaves.lazy.compactMap(\.document.root.duplicateMemberName).first {
            return .leave(reason: Decision.duplicateReason(name))
        }
        if !decideDesignDocuments, let winner = conflict.leaves.first, winner.document.root.isDesignDocument {
            return Self.resolutionOfDesignDocument(conflict)
        }
        switch policy {
        case .setAside: return .leave(reason: "its policy is 'set-aside'")
        case .winner: return .keep(0)
        case .deletesWin: return isDeleted ? .delete : merge(conflict, ancestors)
        case .merge: return merge(conflict, ancestors)
        case .lastUpdateWins:
            guard let order = conflict.latestFirst(by: dateMember) else {
                return .leave(reason: Self.reason(undated: conflict, dateMember))
            }
            return .keep(order[0])
        case .jq(let program):
            return await run(program, conflict, conflict.commonAncestor.flatMap { ancestors[$0] }, now)
        }
    }

    /// Why the leaves can't be ordered by date.
    private static func reason(undated conflict: Conflict, _ member: String) -> String {
        guard let (revision, value) = conflict.undatedLeaf(by: member) else {
            return "some leaves have a string in '\(member)', others a number"
        }
        var cause = "is neither a date nor a number; write a date such as 2026-11-20T10:00:00Z"
        if let text = value.string {
            do throws(ISODateError) { _ = try ISODate(text) } catch { cause = error.explanation }
        }
        return "'\(member)' of the leaf \(revision) is \(DisplayText.json(value)), which \(cause); to resolve it "
            + "without dates, use 'winner' or 'jq:'"
    }

    /// Equal versions are one. A choice between others is left to a person.
    private static func resolutionOfDesignDocument(_ conflict: Conflict) -> ConflictResolution {
        let isSame = conflict.leaves.indices.dropFirst().allSatisfy { leaf in
            ResolvedDocument(leaf: leaf, of: conflict)?.isEqual(to: conflict.leaves[0], of: conflict) == true
        }
        guard !isSame else { return .keep(0) }
        let id = conflict.leaves[0].document.root["_id"]?.string ?? ""
        return .leave(
            reason: "it is a design document, and policies leave code alone: write the right version yourself, or "
                + "name it in --selector: {\"_id\":\"\(id)\"}")
    }

    private func merge(_ conflict: Conflict, _ ancestors: [String: JSONText]) -> ConflictResolution {
        let order = conflict.latestFirst(by: dateMember) ?? Array(conflict.leaves.indices)
        let merge = ConflictMerge(
            conflict, ancestors: ancestors, order: order, isOrderedByDate: conflict.isOrderedByDate(dateMember))
        do { return Self.resolution(try merge.merge(), conflict) } catch let gap as ValueMerge.Undecidable {
            return .leave(
                reason: "its leaves differ in '\(gap.name)', and neither their common ancestor nor dates in "
                    + "'\(dateMember)' show which leaf changed it; use 'winner', 'last-update-wins' or 'jq:'")
        } catch {
            return .leave(reason: "its leaves can't be merged into one document")
        }
    }

    /// If a leaf already equals the result, no new revision is needed.
    private static func resolution(_ document: ResolvedDocument, _ conflict: Conflict) -> ConflictResolution {
        let same = conflict.leaves.firstIndex { document.isEqual(to: $0, of: conflict) }
        return same.map { .keep($0) } ?? .write(document)
    }

    // MARK: - jq

    private func run(
        _ program: Int, _ conflict: Conflict, _ ancestor: JSONText?, _ now: Int
    ) async -> ConflictResolution {
        var leaves = JSONWriter()
        leaves.array { leaves in for leaf in conflict.leaves { leaves.raw(leaf.document.bytes) } }
        let locals = Array(#"{"ancestor":"#.utf8) + (ancestor?.bytes ?? Array("null".utf8)) + [UInt8(ascii: "}")]
        guard let pool, let document = try? JSONText(leaves.bytes), let locals = try? JSONText(locals) else {
            return .leave(reason: "its leaves can't be passed to a program")
        }
        let call = JQCall(
            program: program, document: document, change: Array("null".utf8), match: Array("{}".utf8), now: now,
            locals: locals)
        switch await pool.run([call]).first {
        case .outputs(let outputs)?: return resolution(outputs, conflict)
        case .failed(let error)?: return .leave(reason: "\(error)")
        case nil: return .leave(reason: "the program did not run")
        }
    }

    private func resolution(_ outputs: [JSONText], _ conflict: Conflict) -> ConflictResolution {
        guard outputs.count == 1, let output = outputs.first?.root else {
            return .leave(
                reason: outputs.isEmpty
                    ? "the program has no output for it" : "the program has several outputs for it")
        }
        if output.kind == .null || output["_deleted"]?.bool == true { return .delete }
        guard output.kind == .object else {
            return .leave(reason: "the program's output is neither an object nor null")
        }
        if let reason = Self.reservedMemberError(of: output, conflict) { return .leave(reason: reason) }
        guard let attachments = Self.attachments(of: output, conflict) else {
            return .leave(
                reason: "the program's output has an attachment whose name and digest match none in the leaves")
        }
        guard let members = ResolvedDocument.members(of: output) else {
            return .leave(reason: "the program's output is not valid JSON")
        }
        return Self.resolution(ResolvedDocument(members: members, attachments: attachments), conflict)
    }

    /// What is wrong with an output's members that begin with `_`. Members that equal those of the leaves are silently
    /// removed.
    private static func reservedMemberError(of output: JSONValue, _ conflict: Conflict) -> String? {
        let id = conflict.leaves.first?.document.root["_id"]
        if let own = output["_id"], let id, !own.isEquivalent(to: id) {
            return "the program's output has a different '_id'"
        }
        for member in output.members where member.name.characters.first == UInt8(ascii: "_") {
            let name = member.name.string ?? ""
            let isKnown = ["_id", "_rev", "_attachments", "_deleted"].contains(name)
            guard isKnown || conflict.leaves.contains(where: { $0.document.root[name] != nil }) else {
                return "the program's output has '\(name)', and names that begin with '_' belong to the server"
            }
        }
        return nil
    }

    /// The attachments in a program's output, each from the first leaf with the same name and digest. Without
    /// `_attachments`, the winner's.
    ///
    /// - Returns: Nil if no leaf has one of the attachments.
    private static func attachments(
        of output: JSONValue, _ conflict: Conflict
    ) -> [(name: String, leaf: Int)]? {
        let wanted = output["_attachments"] ?? conflict.leaves.first?.document.root["_attachments"]
        guard let wanted, wanted.kind != .null else { return [] }
        guard wanted.kind == .object else { return nil }
        var found: [(name: String, leaf: Int)] = []
        for member in wanted.members {
            let digest = member.value["digest"]?.string
            guard let name = member.name.string, member.value["data"] == nil,
                let leaf = conflict.leaves.firstIndex(where: { leaf in
                    let own = leaf.document.root["_attachments"]?[name]
                    return own != nil && own?["digest"]?.string == digest
                })
            else { return nil }
            found.append((name, leaf))
        }
        return found
    }
}
