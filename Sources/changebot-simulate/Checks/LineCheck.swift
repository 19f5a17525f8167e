internal import LosslessJSON

/// Checks the lines that rules emit, when they are on the disk.
struct LineCheck {
    private var records = EventRecords()
    /// The boxes with a line, by document and revision.
    private var boxes: [String: Set<Int>] = [:]

    /// The gateway has lost marks.
    mutating func noteLostMarks() { records.comparesIDs = false }

    mutating func noteReset() { records.noteReset() }

    /// - Parameters:
    ///   - line: Without its line feed.
    ///   - process: The one that has written it.
    /// - Throws: ``Violation``.
    mutating func note(_ line: [UInt8], from process: Int, _ gateway: SimulatedGateway) throws {
        let text = String(decoding: line, as: UTF8.self)
        guard let root = (try? JSONText(line))?.root, let id = (root["subject"] ?? root["id"])?.string,
            let name = (root["data"]?["_rev"] ?? root["rev"])?.string
        else { throw violation("a line is truncated, or no event: \(text)") }
        guard let document = gateway.documents[id], let revision = document.revision(name) else {
            // The bot has not noticed yet that the database was replaced.
            if gateway.replacements > 0 { return }
            throw violation("a line is about no revision: \(text)")
        }
        if let box = root["box"]?.integer { return try noteBox(box, document, revision) }
        guard Scenario.emitsEvent(about: revision), let event = root["id"]?.string, let data = root["data"] else {
            throw violation("no rule emits a line about \(id) \(revision.id.short) \(revision.body.text): \(text)")
        }
        guard DocumentBody(data) == revision.body else {
            throw violation("the line about \(id) \(revision.id.short) \(revision.body.text) is \(text)")
        }
        let fault = records.note(event, about: revision, of: document, from: process, isAccepted: true)
        if let fault { throw violation("in a line, \(fault)") }
    }

    private mutating func noteBox(_ box: Int, _ document: StoredDocument, _ revision: StoredRevision) throws {
        guard box < Scenario.boxes(neededBy: revision) else {
            throw violation("\(document.id) \(revision.id.short) \(revision.body.text) has no box \(box)")
        }
        boxes["\(document.id) \(revision.id)", default: []].insert(box)
    }

    /// The lines are on the disk before the document is marked.
    ///
    /// - Parameter parent: The revision that the bot replaces.
    /// - Throws: ``Violation``.
    func checkWrite(_ document: StoredDocument, replacing parent: StoredRevision?) throws {
        guard let parent else { return }
        let found = boxes["\(document.id) \(parent.id)"] ?? []
        let needed = Scenario.boxes(neededBy: parent)
        guard found.count < needed else { return }
        throw Violation(
            guarantee: .order,
            detail:
                "\(document.id) \(parent.id.short) is marked, but only \(found.count) of \(needed) lines are on disk")
    }

    func isOnDisk(_ document: StoredDocument, _ revision: StoredRevision) -> Bool {
        records.hasArrived(document, revision)
    }

    private func violation(_ detail: String) -> Violation { Violation(guarantee: .lines, detail: detail) }
}
