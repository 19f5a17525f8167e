/// The rules that emit lines, and what they mean.
extension Scenario {
    /// The folder of the lines. Its files are on another disk than the bot's state.
    static let linesFolder = "lines"

    /// `journal` only emits. `parcel` repeats its actions for each element: it puts boxes, emits a line for each, and then
    /// marks its document.
    ///
    /// `ping` also matches what it has written: only because the bot recognises that, it sends no second event.
    static let lineRules = """
          - name: journal
            when: { type: entry }
            then:
              - emit: { file: \(linesFolder)/journal.ndjson, rotate: { size: 4KB, every: hour } }
          - name: parcel
            when: { type: parcel, packed: { $exists: false } }
            then:
              - for_each: range(.n % 3)
                put:
                  id: { jq: '"box.\\(._id).\\($index)"' }
                  document: { type: box, of: { jq: ._id }, item: { jq: $item } }
              - for_each: range(.n % 3)
                emit:
                  file: \(linesFolder)/boxes.ndjson
                  line: { jq: '{id: $change.id, rev: $change.rev, box: $index}' }
              - merge: { packed: true }
          - name: ping
            when: { type: ping }
            then:
              - webhook: { url: "\(receiverOrigin)/pings", body: document }
              - merge: { seen: true }
        """

    /// Whether rules emit a CloudEvent about a revision.
    static func emitsEvent(about revision: StoredRevision) -> Bool {
        !revision.isDeleted && revision.body["type"] == #""entry""#
    }

    /// How many boxes a revision needs: lines, and documents.
    static func boxes(neededBy revision: StoredRevision) -> Int {
        guard !revision.isDeleted, revision.body["type"] == #""parcel""#, revision.body["packed"] == nil else {
            return 0
        }
        return (revision.body["n"].flatMap { Int($0) } ?? 0) % 3
    }

    /// The document that leads to a box, and the number of the box.
    static func parcel(of box: String) -> (id: String, index: Int)? {
        guard isBox(box), let dot = box.lastIndex(of: "."), let index = Int(box[box.index(after: dot)...]) else {
            return nil
        }
        return (String(box[..<dot].dropFirst("box.".count)), index)
    }

    static func isBox(_ id: String) -> Bool { id.hasPrefix("box.") }

    static func box(_ index: Int, of id: String) -> String { "box.\(id).\(index)" }

    /// The body of a box.
    static func boxBody(_ id: String) -> String? {
        parcel(of: id).map { #"{"type":"box","of":"\#($0.id)","item":\#($0.index)}"# }
    }
}
