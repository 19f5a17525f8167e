package import GatewayClient
internal import LosslessJSON

/// What the state knows about earlier resets, kept with it so that the next run knows it too.
///
/// Some gateways lose the mark of a database that is still the same, or show the marks of two databases in turn. The
/// record tells such a reset from a real one.
package struct ResetRecord: Sendable, Equatable {
    /// The maximum number of entries of each list.
    private static let maxEntries = 10

    /// The nonces of earlier marks, the oldest first.
    private(set) var identities: [String] = []
    /// `instance_start_time` of all databases that the state has belonged to, the oldest first.
    private(set) var instances: [String] = []
    /// The newest sequence of the database at the last reset; nil if there was none, or it was unknown.
    private(set) var newest: SequenceID?
    /// Whether there was a reset.
    private(set) var hasReset = false

    package init() {}

    /// Nil if `text` is not a record.
    init?(_ text: String) {
        guard let json = SmallJSON(Array(text.utf8)) else { return nil }
        identities = json["identities"]?.elements?.compactMap(\.string) ?? []
        instances = json["instances"]?.elements?.compactMap(\.string) ?? []
        newest = json["newest"]?.string.flatMap { SequenceID($0) }
        hasReset = json["reset"]?.bool ?? false
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, values) in [("identities", identities), ("instances", instances)] {
                writer.name(name)
                writer.array { writer in
                    for value in values { writer.string(value) }
                }
            }
            if let newest { writer.member("newest", string: newest.description) }
            writer.member("reset", raw: Array("\(hasReset)".utf8))
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// With the database that the state belongs to.
    package func noting(_ info: DatabaseInfo) -> ResetRecord {
        guard let instance = Self.instance(of: info) else { return self }
        var record = self
        record.instances = Self.appending(instance, to: instances)
        return record
    }

    /// With a reset, before everything is read again.
    ///
    /// - Parameters:
    ///   - identity: The nonce of the mark before the reset.
    ///   - info: Describes the database after the reset.
    func noting(resetFrom identity: String?, _ info: DatabaseInfo) -> ResetRecord {
        var record = noting(info)
        if let identity { record.identities = Self.appending(identity, to: identities) }
        record.newest = Self.newest(of: info)
        record.hasReset = true
        return record
    }

    /// What supports a reset, besides the mark.
    ///
    /// - Parameter checkpoint: The state's; nil if there is none.
    func evidence(
        of reset: DatabaseReset, _ info: DatabaseInfo, checkpoint: SequenceID?
    ) -> MarkReliability.Evidence {
        let isNewInstance = Self.instance(of: info).map { !instances.isEmpty && !instances.contains($0) } ?? false
        // Of two databases in turn, one may have fewer changes than the other.
        let isKnownIdentity = reset.mark.map { identities.contains($0.identity) } ?? false
        let isBehind = checkpoint.flatMap { Self.newest(of: info)?.hasPassed($0) } == false
        if isNewInstance || isBehind && !isKnownIdentity { return .otherDatabase }
        guard hasReset else { return .progress }
        // Reading again up to the sequence at the last reset is no progress.
        return checkpoint.flatMap { newest?.hasPassed($0) } == false ? .progress : .none
    }

    /// Whether all but the mark shows that this is still the state's database: it has the same start time, and no fewer
    /// changes than were read. False if the gateway does not report that.
    ///
    /// - Parameter checkpoint: The state's; nil if there is none.
    func isUnchanged(_ info: DatabaseInfo, checkpoint: SequenceID?) -> Bool {
        guard let instance = Self.instance(of: info), instance == instances.last, let newest = Self.newest(of: info)
        else { return false }
        return checkpoint.map { newest.hasPassed($0) == true } ?? true
    }

    /// Nil where it shows nothing: old versions of CouchDB report "0" for all databases.
    private static func instance(of info: DatabaseInfo) -> String? { info.instance == "0" ? nil : info.instance }

    /// Nil while the gateway does not report it.
    private static func newest(of info: DatabaseInfo) -> SequenceID? { info.isOnline ? info.updateSequence : nil }

    private static func appending(_ entry: String, to entries: [String]) -> [String] {
        Array((entries.filter { $0 != entry } + [entry]).suffix(maxEntries))
    }
}
