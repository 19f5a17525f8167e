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
        case 11, 13: hurry(numbers.pick(ids))
        case 12:
            let notes = ids.filter { gateway.documents[$0].map(Scenario.isResolved) == true }
            if notes.isEmpty { return false }
            quarrel(numbers.pick(notes))
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

    /// A reminder that becomes something else at about the time when it is due.
    private func hurry(_ id: String) {
        let due = newTime([5])
        count += 1
        replace(id, by: #"{"type":"reminder","n":\#(count),"text":"a","dueAt":\#(due)}"#)
        // The bot notices it up to a second later.
        let milliseconds = (due - gateway.wallSeconds) * 1000 + numbers.below(1200) - 200
        gateway.scheduler.after(.milliseconds(milliseconds)) { [self] in
            guard let winner = gateway.documents[id]?.winner, Scenario.time(of: winner) == due else { return }
            count += 1
            save("rewrites", id, #"{"type":"ping","n":\#(count),"text":"a"}"#, [:], winner.id)
        }
    }

    /// A conflict, and soon another one, which may be of another kind.
    private func quarrel(_ id: String) {
        conflict(id)
        gateway.scheduler.after(.milliseconds(numbers.below(numbers.pick([5, 50, 500])))) { [self] in
            conflict(id, newBody())
        }
    }

    /// A document that is soon deleted again.
    private func visit(_ id: String) {
        count += 1
        let body =
            numbers.chance(3)
            ? #"{"type":"errand","n":\#(count),"text":"\#(numbers.pick(["a", ""]))","dueAt":\#(newTime([-25, 0]))}"#
            : #"{"type":"visitor","n":\#(count),"text":"a"}"#
        replace(id, by: body)
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

    /// A document without attachments, whatever was there.
    private func replace(_ id: String, by json: String) {
        let winner = gateway.documents[id]?.winner
        save(
            winner == nil ? "creates" : "rewrites", id, json, [:], winner?.isDeleted == true ? nil : winner?.id)
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

    /// - Parameter json: The content of the other revision; nil: something that is in conflict with the winner.
    private func conflict(_ id: String, _ json: String? = nil) {
        guard let winner = gateway.documents[id]?.winner, !winner.isDeleted else { return }
        guard let body = try? DocumentBody(json: json ?? bodyInConflict(with: winner, of: id)) else { return }
        note("conflicts")
        story.tell("user", "adds a conflict to \(id): \(body.text)")
        gateway.addConflict(id, body)
    }

    private func bodyInConflict(with winner: StoredRevision, of id: String) -> String {
        guard extent == .full, Scenario.isMemo(winner), !numbers.chance(8) else { return newBody() }
        // Usually from the same revision.
        let before = winner.parent.flatMap { gateway.documents[id]?.revision($0)?.body }
        return editedMemo(before ?? winner.body)
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
        let changed = numbers.pick(["a", "b", "c", "dueAt"])
        var members = body.members.filter { !["n", changed].contains($0.name) }
            .map { String(decoding: $0.bytes, as: UTF8.self) }
        members.append(#""n": \#(count)"#)
        if !numbers.chance(4) {
            members.append(changed == "dueAt" ? #""dueAt":\#(newTime([30, 100, 200]))"# : #""\#(changed)":[\#(count)]"#)
        }
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

    private func note(_ verb: String) { actions[verb, default: 0] += 1 }

    /// With what careless programs damage: digits that a double can't hold, the spelling of numbers, escapes, blanks,
    /// the order of members.
    private func newBody() -> String {
        count += 1
        var members = [
            #""n":\#(count)"#, #""big":12345678901234567890123"#, #""price": 1.10"#,
            #""text":"\#(numbers.pick(["a", #"\u00e9\/"#, "é", #"\"quoted\""#, ""]))""#, #""list":[1, 2.0,{"a":-0}]"#,
        ]
        let kind = numbers.pick(extent == .full ? Self.allKinds : Self.basicKinds)
        members += newMembers(extent == .shared && numbers.chance(4) ? numbers.pick(Self.sharedKinds) : kind)
        for index in members.indices.reversed() { members.swapAt(index, numbers.below(index + 1)) }
        return "{\(members.joined(separator: ","))}"
    }

    /// Kinds of documents, each as often as it is written.
    private static let basicKinds: [Kind] = [
        .task, .task, .task, .task, .task, .trash, .order, .order, .picture, .logo, .product, .product, .product,
        .alarm, .sale, .invoice, .reminder, .reminder, .meter, .note, .note, .note,
    ]
    private static let allKinds: [Kind] =
        basicKinds + [
            .memo, .memo, .memo, .item, .item, .item, .parcel, .parcel, .parcel, .entry, .entry, .entry, .chore,
            .chore, .ping, .ping, .visitor, .visitor, .errand, .errand, .sealed, .refusedOrder, .meter, .door, .door,
            .countedAlarm, .countedAlarm,
        ]
    /// What fleets have besides the basic ones.
    private static let sharedKinds: [Kind] = [.visitor, .errand, .door, .door, .countedAlarm, .countedAlarm]

    /// A kind of document: mostly the value of `type`.
    private enum Kind {
        case task, trash, order, picture, logo, product, alarm, sale, invoice, reminder, meter, note, memo, item, parcel
        case entry, chore, ping, visitor, errand, sealed, door
        /// An order for which the gateway refuses a write.
        case refusedOrder
        /// An alarm that a rule counts, too.
        case countedAlarm
    }

    /// The members of a new body that depend on its kind.
    private func newMembers(_ kind: Kind) -> [String] {
        switch kind {
        case .task: [#""type":"task""#, #""kind":"\#(numbers.pick(Scenario.kinds))""#]
        case .order: [#""type":"order""#, #""account":"\#(numbers.pick(Scenario.accounts))""#]
        case .refusedOrder: [#""type":"order""#, #""account":"grey""#]
        case .product:
            [#""type":"product""#, #""product":"\#(numbers.chance(8) ? "ghost" : numbers.pick(Scenario.products))""#]
        case .countedAlarm: [#""type":"alarm""#, #""kind":"\#(numbers.pick(Scenario.kinds))""#]
        case .reminder: [#""type":"reminder""#, #""dueAt":\#(newTime())"#]
        case .errand: [#""type":"errand""#, #""dueAt":\#(newTime([0, 30, 100, 200]))"#]
        case .memo:
            [#""type":"memo""#, #""a":[1]"#, #""b":[2]"#]
                + (numbers.chance(2) ? [#""dueAt":\#(newTime([30, 100, 200]))"#] : [])
        case .item:
            [
                #""type":"item""#, #""in":"\#(numbers.pick(Scenario.lists))""#,
                #""color":"\#(numbers.pick(Scenario.colors))""#,
            ]
        case .door: [#""type":"door""#, #""open":\#(numbers.chance(2))"#]
        default: [#""type":"\#(kind)""#]
        }
    }
}
