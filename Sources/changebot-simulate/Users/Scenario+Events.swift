internal import LosslessJSON

/// The rules that send webhooks, and what they mean.
extension Scenario {
    static let receiverOrigin = "http://receiver.example"

    /// `alarm` only sends an event. `sale` also marks its document, after the receiver has accepted the event. `level`
    /// sends one for each new value.
    static let eventRules = """
          - name: alarm
            when: { type: alarm }
            then:
              - webhook: { url: "\(receiverOrigin)/alarms", body: document }
          - name: sale
            when: { type: sale, told: { $exists: false } }
            then:
              - webhook: { url: "\(receiverOrigin)/sales", body: document }
              - merge: { told: true }
          - name: level
            when: { type: meter }
            changed: [n]
            first: fire
            then:
              - webhook: { url: "\(receiverOrigin)/levels", body: document }
        """

    /// Whether rules send an event about a revision.
    static func sendsEvent(about revision: StoredRevision) -> Bool {
        guard !revision.isDeleted else { return saysFarewell(revision) }
        switch revision.body["type"] {
        case #""alarm""#, #""meter""#, #""ping""#: return true
        case #""sale""#: return revision.body["told"] == nil
        default: return false
        }
    }

    /// The members in an event: as they were when the action was reached, and rules mark the document after that. But they
    /// run again until nothing changes, and `ping` then has the mark.
    static func bytesOfEvent(about revision: StoredRevision) -> [UInt8] {
        let isMarked = revision.body["type"] == #""ping""# && revision.body["seen"] == nil
        return revision.body.bytes + (isMarked ? Array(#","seen":true"#.utf8) : [])
    }

    /// What has its own event: a revision, or a value that differs from the one before.
    static func nameOfEvent(_ id: String, _ revision: StoredRevision) -> String {
        "\(id) \(isEdge(revision) ? revision.body["n"] ?? "" : revision.id)"
    }

    /// Whether the id of the event depends on the value before.
    static func isEdge(_ revision: StoredRevision) -> Bool { revision.body["type"] == #""meter""# }

    /// Whether the receiver refuses an event for good.
    static func isRefusedEvent(_ body: [UInt8]) -> Bool {
        (try? JSONText(body))?.root["text"]?.isString("") ?? true
    }

    static func mayFailToSend(_ revision: StoredRevision, because reason: String) -> Bool {
        if mayFailToTell(because: reason) { return true }
        guard sendsEvent(about: revision) else { return false }
        return revision.body["text"] == "\"\"" && reason.contains("refused the event with HTTP 422")
            || reason.contains(" times while the receiver accepts other events")
    }
}
