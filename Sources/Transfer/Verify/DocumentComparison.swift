internal import GatewayClient
package import LosslessJSON

/// Compares two documents: members in any order, strings by their characters, numbers as written.
///
/// Ignores members that gateways add: how a revision was created, and where attachment bytes are stored. Digests are
/// compared only if both are of the same kind.
package struct DocumentComparison: Sendable {
    /// Whether numbers with equal values are equal, because CouchDB respells floats. Default: false.
    package var comparesNumbersByValue = false
    /// Whether `_rev` and `_revisions` must be equal. Default: false.
    package var comparesRevisions = false

    /// Compares numbers as written, and ignores revisions.
    package init() {}

    private static let revisionMembers: Set<String> = ["_rev", "_revisions"]
    private static let storageMembers: Set<String> = ["_cv", "_exp"]
    private static let attachmentMembers: Set<String> = [
        "revpos", "stub", "follows", "data", "file", "digest", "unpacked", "ver",
    ]
    private static let digestName = "digest"
    /// If the bytes are equal, the length is also ignored: CouchDB reports that of the compressed bytes.
    private static let equalBytesMembers = attachmentMembers.union(["length", "encoding", "encoded_length"])

    private struct Pair {
        let left: JSONValue
        let right: JSONValue
        let path: JSONPointer
    }

    /// A place where the documents differ; nil if they are equal. Does not recurse.
    package func difference(_ left: JSONValue, _ right: JSONValue) -> JSONPointer? {
        var pairs = [Pair(left: left, right: right, path: JSONPointer(tokens: []))]
        while let pair = pairs.popLast() {
            guard pair.left.kind == pair.right.kind else { return pair.path }
            switch pair.left.kind {
            case .null, .false, .true: break
            case .number: guard isSame(number: pair.left, pair.right) else { return pair.path }
            case .string: guard pair.left.characters == pair.right.characters else { return pair.path }
            case .array: if let path = pushElements(of: pair, to: &pairs) { return path }
            case .object: if let path = pushMembers(of: pair, to: &pairs) { return path }
            }
        }
        return nil
    }

    private func isSame(number left: JSONValue, _ right: JSONValue) -> Bool {
        left.bytes == right.bytes || comparesNumbersByValue && left.isEquivalent(to: right)
    }

    private func pushElements(of pair: Pair, to pairs: inout [Pair]) -> JSONPointer? {
        var others = pair.right.elements
        for (position, element) in pair.left.elements.enumerated() {
            let path = JSONPointer(tokens: pair.path.tokens + [String(position)])
            guard let other = others.next() else { return path }
            pairs.append(Pair(left: element, right: other, path: path))
        }
        return others.next() == nil ? nil : pair.path
    }

    private func pushMembers(of pair: Pair, to pairs: inout [Pair]) -> JSONPointer? {
        let isSame = isAttachment(pair.path) ? haveSameBytes(pair.left, pair.right) : nil
        if isSame == false { return JSONPointer(tokens: pair.path.tokens + [Self.digestName]) }
        let leftOut = isSame == true ? Self.equalBytesMembers : namesLeftOut(at: pair.path)
        let left = members(of: pair.left, without: leftOut)
        let right = members(of: pair.right, without: leftOut)
        for (name, value) in left {
            let path = JSONPointer(tokens: pair.path.tokens + [String(decoding: name, as: UTF8.self)])
            guard let other = right[name] else { return path }
            pairs.append(Pair(left: value, right: other, path: path))
        }
        guard left.count == right.count else {
            let extraMember = right.keys.first { left[$0] == nil } ?? []
            return JSONPointer(tokens: pair.path.tokens + [String(decoding: extraMember, as: UTF8.self)])
        }
        return nil
    }

    /// If a member occurs twice, the last one counts.
    private func members(of object: JSONValue, without leftOut: Set<String>) -> [[UInt8]: JSONValue] {
        var members: [[UInt8]: JSONValue] = [:]
        for member in object.members {
            let name = Array(member.name.characters)
            if !leftOut.isEmpty, leftOut.contains(String(decoding: name, as: UTF8.self)) { continue }
            members[name] = member.value
        }
        return members
    }

    private func namesLeftOut(at path: JSONPointer) -> Set<String> {
        if path.tokens.isEmpty {
            return comparesRevisions ? Self.storageMembers : Self.storageMembers.union(Self.revisionMembers)
        }
        return isAttachment(path) ? Self.attachmentMembers : []
    }

    private func isAttachment(_ path: JSONPointer) -> Bool {
        path.tokens.count == 2 && path.tokens[0] == "_attachments"
    }

    /// Attachments in both documents whose digests don't tell whether they are equal.
    func undecidedAttachments(_ left: JSONValue, _ right: JSONValue) -> [String] {
        guard let attachments = left["_attachments"], let others = right["_attachments"] else { return [] }
        return attachments.members.compactMap { member in
            guard let name = member.name.string, let other = others[name] else { return nil }
            return haveSameBytes(member.value, other) == nil ? name : nil
        }
    }

    /// Nil if the digests can't tell.
    private func haveSameBytes(_ left: JSONValue, _ right: JSONValue) -> Bool? {
        let digests = [left, right].compactMap { $0[Self.digestName]?.string.flatMap { AttachmentDigest($0) } }
        guard digests.count == 2 else { return nil }
        let isSame = digests[0].isSame(as: digests[1])
        return isSame == false && left["unpacked"]?.bool == true ? nil : isSame
    }
}
