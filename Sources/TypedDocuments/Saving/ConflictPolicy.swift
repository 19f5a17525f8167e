/// What becomes of a change if somebody else has changed the document since it was read.
///
/// A policy compares three versions: the one that was read, the one to be saved, and the one that the gateway has now.
/// What it makes of them is written only if it fits the type and passes ``DocumentCodable/validate()``. Otherwise the
/// outcome is the conflict.
public struct ConflictPolicy: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case report, declared, merge, lastUpdateWins, deletesWin
    }

    let kind: Kind
    let dateMember: String

    private init(_ kind: Kind, by dateMember: String = usualDateMember) {
        self.kind = kind
        self.dateMember = dateMember
    }

    private static let usualDateMember = "updatedAt"

    /// Nothing is written, and the outcome is the conflict.
    public static let report = ConflictPolicy(.report)

    /// That of the type: ``DocumentCodable/conflictPolicy``.
    public static let declared = ConflictPolicy(.declared)

    /// As ``merge(by:)``, with the dates in `updatedAt`.
    public static let merge = ConflictPolicy(.merge)

    /// Members and attachments that were changed here are written onto the other version. The rest stays as it is there.
    ///
    /// If both have changed one to different values, objects are merged in turn. Any other value, an array too, is taken
    /// from the version with the later date; without dates, from this one. A deleted document is written anew. A deletion
    /// does not happen if the document has been changed.
    ///
    /// - Parameter dateMember: The member with the date of the last update: ISO 8601 or a number.
    public static func merge(by dateMember: String) -> ConflictPolicy { ConflictPolicy(.merge, by: dateMember) }

    /// As ``lastUpdateWins(by:)``, with the dates in `updatedAt`.
    public static let lastUpdateWins = ConflictPolicy(.lastUpdateWins)

    /// The version with the later date replaces the other one as a whole; without dates, this one does, also if it is a
    /// deletion. A deleted document is written anew.
    ///
    /// - Parameter dateMember: The member with the date of the last update: ISO 8601 or a number.
    public static func lastUpdateWins(by dateMember: String) -> ConflictPolicy {
        ConflictPolicy(.lastUpdateWins, by: dateMember)
    }

    /// As ``deletesWin(by:)``, with the dates in `updatedAt`.
    public static let deletesWin = ConflictPolicy(.deletesWin)

    /// A deletion holds, here and there; two edits are merged as by ``merge(by:)``.
    ///
    /// - Parameter dateMember: The member with the date of the last update: ISO 8601 or a number.
    public static func deletesWin(by dateMember: String) -> ConflictPolicy {
        ConflictPolicy(.deletesWin, by: dateMember)
    }

    /// This policy, or that of the type.
    func resolved<Document: DocumentCodable>(for type: Document.Type) -> ConflictPolicy {
        guard kind == .declared else { return self }
        return type.conflictPolicy.kind == .declared ? .report : type.conflictPolicy
    }
}
