/// The rules that fire when a document starts or stops matching, and what they mean.
extension Scenario {
    /// `door-opens` and `door-closes` tell the receiver. It never refuses these events.
    static let doorRules = """
          - name: door-opens
            when: { type: door, open: true }
            on: [enter]
            then:
              - webhook: { url: "\(receiverOrigin)/doors", body: { jq: '{_id: ._id, rev: ._rev, isOpen: true, text: "a"}' } }
          - name: \(closingRule)
            when: { type: door, open: true }
            on: [leave]
            then:
              - webhook: { url: "\(receiverOrigin)/doors", body: { jq: '{_id: ._id, rev: ._rev, isOpen: false, text: "a"}' } }
        """

    static let closingRule = "door-closes"

    static func isDoorEvent(_ request: OutsideRequest) -> Bool { request.path == "/doors" }

    static func isDoor(_ revision: StoredRevision) -> Bool {
        !revision.isDeleted && revision.body["type"] == #""door""#
    }

    static func isOpenDoor(_ revision: StoredRevision) -> Bool { isDoor(revision) && revision.body["open"] == "true" }

    static func mayFailToTell(because reason: String) -> Bool {
        reason.contains("\(receiverOrigin)/doors") && reason.contains(" times while the receiver accepts other events")
    }
}
