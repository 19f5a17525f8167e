internal import TestKit

/// People who write, delete, resurrect and conflict, each at a random time.
final class Users {
    private let gateway: SimulatedGateway
    private let story: Story
    private var numbers: SplitMix64
    private let ids: [String]
    private var count = 0
    private var times: Set<Int> = []
    /// How often they act at most.
    private let limit: Int
    private let extent: Scenario.Extent
    /// How many documents each kind of action has changed.
    private(set) var actions: [String: Int] = [:]

    init(_ gateway: SimulatedGateway, _ story: Story, _ settings: SimulationSettings, seed: UInt64) {
        (self.gateway, self.story, numbers) = (gateway, story, SplitMix64(seed: seed))
        (limit, extent) = (settings.actions ?? .max, settings.rules)
        ids = (0..<settings.documents).map { "doc-\($0)" }
    }

    /// A pause before the next action: often short, sometimes long.
    func pause() -> Duration {
        numbers.chance(50)
            ? .milliseconds(numbers.below(20_000)) : .milliseconds(numbers.below(numbers.pick([5, 50, 500])))
    }

    /// One action, or several at once.
    func act() {
        for _ in 0..<(numbers.chance(30) ? 30 : 1) { actOnce() }
    }

    private func actOnce() {
        guard actions.values.reduce(0, +) < limit else { return }
        if numbers.chance(40) { return delete("account.\(numbers.pick(Scenario.accounts))") }
        if numbers.chance(80) { return disturbTotal() }
        if extent == .full, actOnSpecial() { return }
        if extent == .shared, numbers.chance(15), actOnDoor() { return }
        if extent == .shared, numbers.chance(30) { return visit(numbers.pick(ids)) }
        let id = numbers.pick(ids)
        switch numbers.below(20) {
        case 0, 1: delete(id)
        case 2: conflict(id)
        case 3...7: edit(id)
        default: write(id)
        }
    }

    /// Lists, boxes, and conflicts that are merged.
    ///
    /// - Returns: Whether anything was done.
    private func actOnSpecial() -> Bool {
        switch numbers.below(40) {
        case 0, 1:
            count += 1
            let color = numbers.pick(Scenario.colors)
            let id = numbers.pick(Scenario.lists)
            let winner = gateway.documents[id]?.winner
            if winner?.isDeleted == false, numbers.chance(8) {
                delete(id)
            } else {
                save(
                    "rewrites", id, #"{"type":"list","color":"\#(color)","n":\#(count)}"#, [:],
                    winner?.isDeleted == true ? nil : winner?.id)
            }
        case 2:
            let boxes = gateway.ids.filter { Scenario.isBox($0) && gateway.documents[$0]?.body != nil }
            if boxes.isEmpty { return false }
            delete(numbers.pick(boxes))
        case 3, 4:
            let memos = ids.filter { gateway.documents[$0]?.winner.map(Scenario.isMemo) == true }
            if memos.isEmpty { return false }
            conflict(numbers.pick(memos))
        case 6: visit(numbers.pick(ids))
        case 7:
            let meters = ids.filter { gateway.documents[$0]?.body?["type"] == #""meter""# }
            if meters.isEmpty { return false }
            edit(numbers.pick(meters))
        case 8: return actOnDoor()
        case 9 where numbers.chance(6):
            count += 1
            let id = Scenario.domino(0, of: count)
            save("rewrites", id, Scenario.dominoBody(id) ?? "", [:], nil)
        case 10 where numbers.chance(8): debate()
        case 5 where numbers.chance(8):
            count += 1
            let winner = gateway.documents[Scenario.duel]?.winner
            save(
                "rewrites", Scenario.duel, #"{"type":"duel","n":\#(count)}"#, [:],
                winner?.isDeleted == true ? nil : winner?.id)
        default: return false
        }
        return true
    }

    /// A door opens or closes, and sometimes changes again soon.
    ///
    /// - Returns: Whether there is one.
    private func actOnDoor() -> Bool {
        let doors = ids.filter { gateway.documents[$0]?.winner.map(Scenario.isDoor) == true }
        guard !doors.isEmpty else { return false }
        let id = numbers.pick(doors)
        turn(id)
        if numbers.chance(2) {
            gateway.scheduler.after(.milliseconds(numbers.below(numbers.pick([5, 50, 500])))) { [self] in turn(id) }
        }
        return true
    }

    private func turn(_ id: String) {
        guard let winner = gateway.documents[id]?.winner, Scenario.isDoor(winner) else { return }
        let members = winner.body.members.filter { $0.name != "open" }.map { String(decoding: $0.bytes, as: UTF8.self) }
        let isOpen = Scenario.isOpenDoor(winner)
        save("edits", id, "{\((members + [#""open":\#(!isOpen)"#]).joined(separator: ","))}", [:], winner.id)
    }

    /// An app writes something new into a document.
    func debate() {
        count += 1
        let winner = gateway.documents[Scenario.debate]?.winner
        save(
            "rewrites", Scenario.debate, #"{"type":"debate","n":\#(count)}"#, [:],
            winner?.isDeleted == true ? nil : winner?.id)
    }

    /// In the quiet time.
    func actLate() {
        guard actions.values.reduce(0, +) < limit else { return }
        if numbers.chance(2) { disturbTotal() }
        guard extent == .full else { return }
        count += 1
        let body = #"{"type":"reminder","n":\#(count),"text":"a","dueAt":\#(newTime([5]))}"#
        save("rewrites", Scenario.lateReminder, body, [:], gateway.documents[Scenario.lateReminder]?.winner?.id)
    }

    /// A document that is soon deleted again.
    private func visit(_ id: String) {
        count += 1
        let winner = gateway.documents[id]?.winner
        let body =
            numbers.chance(3)
            ? #"{"type":"errand","n":\#(count),"text":"\#(numbers.pick(["a", ""]))","dueAt":\#(newTime([-25, 0]))}"#
            : #"{"type":"visitor","n":\#(count),"text":"a"}"#
        save("rewrites", id, body, [:], winner?.isDeleted == true ? nil : winner?.id)
        gateway.scheduler.after(.milliseconds(numbers.below(numbers.pick([5, 50, 500])))) { [self] in
            if [#""visitor""#, #""errand""#].contains(gateway.documents[id]?.winner?.body["type"]) { delete(id) }
        }
    }

    /// An app replaces a revision of the bot by the content before it.
    func undo(_ id: String, _ revision: String, _ body: DocumentBody) {
        note("undoes")
        story.tell("user", "undoes \(id) \(revision.short)")
        _ = gateway.write(id, body, replacing: revision, by: .user)
    }

    /// A new document, a new content, or a deleted document that comes back.
    private func write(_ id: String) {
        let document = gateway.documents[id]
        let wasDeleted = document?.winner?.isDeleted == true
        // A client may or may not know the tombstone.
        let revision = wasDeleted && numbers.chance(2) ? nil : document?.winner?.id
        let attachments = newAttachments(document?.winner?.attachments ?? [])
        save(wasDeleted ? "resurrects" : document == nil ? "creates" : "rewrites", id, newBody(), attachments, revision)
    }

    /// Changes one member, and keeps what the bot has added.
    private func edit(_ id: String) {
        guard let winner = gateway.documents[id]?.winner, !winner.isDeleted else { return write(id) }
        count += 1
        // A rule looks only at `n` of a meter.
        let isOther = extent == .full && winner.body["type"] == #""meter""# && numbers.chance(2)
        let members =
            winner.body.members.filter { !isOther || $0.name != "note" }.map { member in
                member.name == "n" && !isOther ? #""n": \#(count)"# : String(decoding: member.bytes, as: UTF8.self)
            } + (isOther ? [#""note":\#(count)"#] : [])
        var attachments: [String: WrittenAttachment] = [:]
        for attachment in winner.attachments { attachments[attachment.name] = .stub }
        if numbers.chance(5) { attachments = newAttachments(winner.attachments) }
        let json = Scenario.isMemo(winner) ? editedMemo(winner.body) : "{\(members.joined(separator: ","))}"
        save("edits", id, json, attachments, winner.id)
    }

    /// Deletes a document with totals, or writes wrong ones and another member into it.
    private func disturbTotal() {
        let id = "total.\(numbers.pick(Scenario.kinds))"
        guard let winner = gateway.documents[id]?.winner, !winner.isDeleted else { return }
        if numbers.chance(2) { return delete(id) }
        count += 1
        let members = winner.body.members.filter { !["n", "note"].contains($0.name) }
            .map { String(decoding: $0.bytes, as: UTF8.self) }
        save(
            "edits", id, "{\((members + [#""n":\#(count)"#, #""note": \#(count)"#]).joined(separator: ","))}", [:],
            winner.id)
    }

    private func delete(_ id: String) {
        guard let winner = gateway.documents[id]?.winner, !winner.isDeleted else { return }
        note("deletes")
        story.tell("user", "deletes \(id) \(winner.id.short)")
        _ = gateway.write(id, winner.body, isDeleted: true, replacing: winner.id, by: .user)
    }

    private func conflict(_ id: String) {
        guard let winner = gateway.documents[id]?.winner, !winner.isDeleted else { return }
        // Usually from the same revision.
        let before = winner.parent.flatMap { gateway.documents[id]?.revision($0)?.body }
        let isMemo = extent == .full && Scenario.isMemo(winner) && !numbers.chance(8)
        guard let body = try? DocumentBody(json: isMemo ? editedMemo(before ?? winner.body) : newBody()) else { return }
        note("conflicts")
        story.tell("user", "adds a conflict to \(id): \(body.text)")
        gateway.addConflict(id, body)
    }

    private func save(
        _ verb: String, _ id: String, _ json: String, _ attachments: [String: WrittenAttachment], _ revision: String?
    ) {
        guard let body = try? DocumentBody(json: json) else { return }
        note(verb)
        story.tell(
            "user", "\(verb) \(id)\(revision.map { " \($0.short)" } ?? ""): \(body.text) \(attachments.keys.sorted())")
        _ = gateway.write(id, body, attachments, replacing: revision, by: .user)
    }

    /// Another `n`, and a member that is added, changed or removed.
    private func editedMemo(_ body: DocumentBody) -> String {
        count += 1
        let changed = numbers.pick(["a", "b", "c"])
        var members = body.members.filter { !["n", changed].contains($0.name) }
            .map { String(decoding: $0.bytes, as: UTF8.self) }
        members.append(#""n": \#(count)"#)
        if !numbers.chance(4) { members.append(#""\#(changed)":[\#(count)]"#) }
        return "{\(members.joined(separator: ","))}"
    }

    /// Mostly none. Some are those that rules attach, with other contents.
    private func newAttachments(_ present: [StoredAttachment]) -> [String: WrittenAttachment] {
        var attachments: [String: WrittenAttachment] = [:]
        for attachment in present where numbers.chance(2) { attachments[attachment.name] = .stub }
        for (name, type) in [("scan", "application/octet-stream"), ("notes.txt", "text/plain")] where numbers.chance(3)
        {
            count += 1
            attachments[name] = .data(type: type, content: Array("\(name) \(count)".utf8))
        }
        if numbers.chance(8) {
            // Of the same length as the file's.
            attachments["logo.txt"] = .data(
                type: "text/plain", content: Array(numbers.pick(["changebot\n", "otherfile\n"]).utf8))
        }
        if numbers.chance(8) { attachments["image"] = .data(type: "image/png", content: [1, 2, 3]) }
        return attachments
    }

    /// Past, soon, or later, in seconds from now. Never the same twice, because a rule fires once for each time of a document.
    private func newTime(_ distances: [Int] = [-100, 0, 30, 600, 4000]) -> Int {
        var time = gateway.wallSeconds + numbers.pick(distances) + numbers.below(30)
        while !times.insert(time).inserted { time += 1 }
        return time
    }

    /// The numbers of the bodies in ``newBody()`` that fleets have besides the basic ones.
    private static let sharedKinds = [38, 40, 45, 46, 47, 48]

    private func note(_ verb: String) { actions[verb, default: 0] += 1 }

    /// With what careless programs damage: digits that a double can't hold, the spelling of numbers, escapes, blanks,
    /// the order of members.
    private func newBody() -> String {
        count += 1
        var members = [
            #""n":\#(count)"#, #""big":12345678901234567890123"#, #""price": 1.10"#,
            #""text":"\#(numbers.pick(["a", #"\u00e9\/"#, "é", #"\"quoted\""#, ""]))""#, #""list":[1, 2.0,{"a":-0}]"#,
        ]
        let kind = numbers.below(extent == .full ? 49 : 22)
        switch extent == .shared && numbers.chance(4) ? numbers.pick(Self.sharedKinds) : kind {
        case 0...4: members += [#""type":"task""#, #""kind":"\#(numbers.pick(Scenario.kinds))""#]
        case 5: members.append(#""type":"trash""#)
        case 6, 7: members += [#""type":"order""#, #""account":"\#(numbers.pick(Scenario.accounts))""#]
        case 8: members.append(#""type":"picture""#)
        case 9: members.append(#""type":"logo""#)
        case 10...12:
            let product = numbers.chance(8) ? "ghost" : numbers.pick(Scenario.products)
            members += [#""type":"product""#, #""product":"\#(product)""#]
        case 13: members.append(#""type":"alarm""#)
        case 14: members.append(#""type":"sale""#)
        case 18: members.append(#""type":"meter""#)
        case 15: members.append(#""type":"invoice""#)
        case 16, 17: members += [#""type":"reminder""#, #""dueAt":\#(newTime())"#]
        case 22...24: members += [#""type":"memo""#, #""a":[1]"#, #""b":[2]"#]
        case 25...27:
            members += [
                #""type":"item""#, #""in":"\#(numbers.pick(Scenario.lists))""#,
                #""color":"\#(numbers.pick(Scenario.colors))""#,
            ]
        case 28...30: members.append(#""type":"parcel""#)
        case 31...33: members.append(#""type":"entry""#)
        case 34, 35: members.append(#""type":"chore""#)
        case 36, 37: members.append(#""type":"ping""#)
        case 38, 39: members.append(#""type":"visitor""#)
        case 40, 41: members += [#""type":"errand""#, #""dueAt":\#(newTime([0, 30, 100, 200]))"#]
        case 42: members.append(#""type":"sealed""#)
        case 43: members += [#""type":"order""#, #""account":"grey""#]
        case 44: members.append(#""type":"meter""#)
        case 45, 46: members += [#""type":"door""#, #""open":\#(numbers.chance(2))"#]
        case 47, 48: members += [#""type":"alarm""#, #""kind":"\#(numbers.pick(Scenario.kinds))""#]
        default: members.append(#""type":"note""#)
        }
        for index in members.indices.reversed() { members.swapAt(index, numbers.below(index + 1)) }
        return "{\(members.joined(separator: ","))}"
    }
}
