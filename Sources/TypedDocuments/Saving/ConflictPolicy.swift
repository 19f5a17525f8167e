/// What to do with a change if the document was changed concurrently since it was read.
///
/// A policy compares three versions: the one that was read, the one to be saved, and the gateway's current one. Its
/// result is written only if it fits the type and passes ``DocumentCodable/validate()``. Otherwise the outcome is the
/// conflict.
public struct ConflictPolicy: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case report, declared, merge, lastUpdateWins, deletesWin
    }

    let kind: Kind
    let dateMember: String

    private init(_ kind: Kind, by dateMember: String = defaultDateMember) {
        self.kind = kind
        self.dateMember = dateMember
    }

    private static let defaultDateMember = "updatedAt"

    /// Nothing is written, and the outcome is the conflict.
    public static let report = ConflictPolicy(.report)

    /// The policy of the type: ``DocumentCodable/conflictPolicy``.
    public static let declared = ConflictPolicy(.declared)

    /// Like ``merge(by:)``, with the dates in `updatedAt`.
    public static let merge = ConflictPolicy(.merge)

    /// Members and attachments that this side changed are written onto the other version. The rest is kept from the
    /// other version.
    ///
    /// If both sides changed a member to different values, objects are merged recursively. Any other value, including
    /// an array, is taken from the version with the later date; without dates, from this side. A deleted document is
    /// created again. A deletion is dropped if the document was changed.
    ///
    /// - Parameter dateMember: The member with the date of the last update: ISO 8601 or a number.
    public static func merge(by dateMember: String) -> ConflictPolicy { ConflictPolicy(.merge, by: dateMember) }

    /// Like ``lastUpdateWins(by:)``, with the dates in `updatedAt`.
    public static let lastUpdateWins = ConflictPolicy(.lastUpdateWins)

    /// The version with the later date replaces the other one as a whole. Without dates, this side wins, even with a
    /// deletion. A deleted document is created again.
    ///
    /// - Parameter dateMember: The member with the date of the last update: ISO 8601 or a number.
    public static func lastUpdateWins(by dateMember: String) -> ConflictPolicy {
        ConflictPolicy(.lastUpdateWins, by: dateMember)
    }

    /// Like ``deletesWin(by:)``, with the dates in `updatedAt`.
    public static let deletesWin = ConflictPolicy(.deletesWin)

    /// A deletion wins, on either side; two edits are merged as by ``merge(by:)``.
    ///
    /// - Parameter dateMember: The member with the date of the last update: ISO 8601 or a number.
    public static func deletesWin(by dateMember: String) -> ConflictPolicy {
        ConflictPolicy(.deletesWin, by: dateMember)
    }

    /// This policy, or the type's policy if it is ``declared``.
    func resolved<Document: DocumentCodable>(for type: Document.Type) -> ConflictPolicy {
        guard kind == .declared else { return self }
        return type.conflictPolicy.kind == .declared ? .report : type.conflictPolicy
    }
}
