import Encodings
import Foundation
import GRDB
import HTTPServing
import LosslessJSON
import SyncFunctions
import Synchronization
import TestKit
import Testing

@testable import EmbeddedGateway

/// Compares sync functions with those of Sync Gateway, scene by scene.
///
/// Reads the recording in the folder `CHANGEBOT_WIRE`. Compares the status and body of each step, and the channels and
/// grants of `_raw`.
@Suite struct SyncFunctionReplayTests {
    private static let folder = ProcessInfo.processInfo.environment["CHANGEBOT_WIRE"]
    private static let scenes: [RecordedScene] =
        folder.map { (try? RecordedScene.read($0 + "/sync-functions-sg-4.1.1.jsonl")) ?? [] } ?? []

    @Test(.enabled(if: folder != nil), .limitedParallelism, arguments: scenes)
    func scenesAnswerAsRecorded(scene: RecordedScene) async throws {
        var play = try await ScenePlay(scene)
        for (number, step) in scene.steps.enumerated() { try await play.carryOut(step, number: number + 1) }
        #expect(play.unmet.isEmpty, "exceptions of \(scene.name) that were not needed")
    }

    @Test(.enabled(if: folder != nil)) func allScenesAreRecorded() {
        #expect(Self.scenes.count == 36)
        #expect(Self.scenes.reduce(0) { $0 + $1.steps.count } == 563)
    }
}

/// One scene of the recording.
struct RecordedScene: Sendable, CustomTestStringConvertible {
    let name: String
    let text: JSONText

    var entry: JSONValue { text.root }
    var steps: [JSONValue] { entry["steps"].map { Array($0.elements) } ?? [] }
    var testDescription: String { name }

    static func read(_ path: String) throws -> [RecordedScene] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
            let text = try JSONText(Array(line.utf8))
            return RecordedScene(name: text.root["name"]?.string ?? "", text: text)
        }
    }
}

/// A scene, replayed against an initially empty gateway.
struct ScenePlay {
    private let scene: RecordedScene
    private let gateway: TestGateway
    private var router: Router { gateway.router }
    private let clock: SceneClock
    private var saved: [String: JSONText] = [:]
    private(set) var unmet: Set<Int>

    init(_ scene: RecordedScene) async throws {
        self.scene = scene
        unmet = Set(SceneExceptions.reasons[scene.name]?.keys.map { $0 } ?? [])
        let clock = SceneClock()
        self.clock = clock
        var rules = WritingRules()
        rules.now = { clock.now }
        gateway = try TestGateway(database: "sf", rules: rules)
        let settings = scene.entry["config"]
        var limits = SyncFunction.Limits()
        if let seconds = settings?["javascript_timeout_secs"]?.integer { limits.time = .milliseconds(200 * seconds) }
        gateway.store.function.limits = limits
        if let source = scene.entry["sync"]?.string {
            gateway.store.function.set(try SyncFunction(source, limits: limits))
        }
        var users = EmbeddedGateway.Users()
        if let guest = settings?["guest"] {
            users.guest = try UsersFile(Array(guest.bytes)).account(guest, knownRoles: nil, isGuest: true)
        }
        try await router.accounts.replace(with: users)
        if scene.entry["config"]?["guest"] == nil { try await gateway.store.startAtZero() }
        for (kind, members) in [("_role", scene.entry["roles"]), ("_user", scene.entry["users"])] {
            for member in members.map({ Array($0.members) }) ?? [] {
                var body = String(decoding: member.value.bytes, as: UTF8.self)
                if kind == "_user" {
                    body = #"{"password":"password""# + (body.count > 2 ? "," : "") + body.dropFirst()
                }
                let answer = try await send(
                    "PUT", "/sf/\(kind)/\(member.name.string ?? "")", Array(body.utf8), as: "admin")
                #expect(answer.status == 201, "\(answer.text)")
            }
        }
    }

    mutating func carryOut(_ step: JSONValue, number: Int) async throws {
        if step["wait"] != nil { clock.advance(by: 3) }
        if let count = SceneExceptions.sequences[scene.name]?[number] { try await gateway.skipSequences(count) }
        let path = filled(step["path_from"]?.string ?? step["path"]?.string ?? "")
        let body =
            step["raw"]?.string ?? (step["body_from"] ?? step["body"]).map { String(decoding: $0.bytes, as: UTF8.self) }
            ?? ""
        let answer = try await send(
            step["method"]?.string ?? "", path, Array(filled(body).utf8), as: step["as"]?.string ?? "")
        if let name = step["save"]?.string, let text = try? JSONText(answer.bytes) { saved[name] = text }
        let label = "\(scene.name) \(number): \(step["as"]?.string ?? "") \(step["method"]?.string ?? "") \(path)"
        let differs = difference(answer, step)
        if SceneExceptions.reasons[scene.name]?[number] != nil {
            if differs != nil { unmet.remove(number) }
            return
        }
        if let differs { Issue.record("\(label): \(differs)") }
    }

    /// The difference from the recording. Nil if there is none.
    private func difference(_ answer: Collected, _ step: JSONValue) -> String? {
        let status = step["status"]?.integer ?? 0
        guard answer.status == status else { return "\(answer.status) for \(status): \(answer.text.prefix(500))" }
        guard let recorded = step["answer"], step["method"]?.string != "HEAD" else { return nil }
        let volatile = Set(step["volatile"]?.elements.compactMap(\.string) ?? [])
        guard !volatile.contains("") else { return nil }
        // The real gateway knows the version of an old revision only while it is cached.
        let without: Set<String> = step["path"]?.string?.contains("rev=") == true ? ["_cv"] : []
        let isRaw = step["path"]?.string?.contains("/_raw/") == true && status == 200
        let expected =
            isRaw ? SceneAnswer.decisions(recorded) : SceneAnswer.text(recorded, masking: volatile, without: without)
        guard let own = try? JSONText(answer.bytes).root else {
            return recorded.string == answer.text ? nil : "\(answer.text.prefix(500)) for \(recorded.string ?? "JSON")"
        }
        let found = isRaw ? SceneAnswer.decisions(own) : SceneAnswer.text(own, masking: volatile, without: without)
        // The first syntax error depends on the engine.
        let syntax = "invalid javascript syntax"
        if found.contains(syntax), found.prefix(while: { $0 != "(" }) == expected.prefix(while: { $0 != "(" }) {
            return nil
        }
        guard found != expected else { return nil }
        let start = max(0, found.commonPrefix(with: expected).count - 200)
        return "\(found.dropFirst(start).prefix(1_500))\n    for \(expected.dropFirst(start).prefix(1_500))"
    }

    private func send(_ method: String, _ path: String, _ body: [UInt8], as user: String) async throws -> Collected {
        var router = router
        var fields: [HTTPField] =
            path.contains("/_config/") ? [HTTPField("Content-Type", "application/javascript")] : [.json]
        switch user {
        case "admin": router.isAdministration = true
        case "guest": break
        default: fields.append(HTTPField("Authorization", "Basic \(Base64.text(Array("\(user):password".utf8)))"))
        }
        return try await Collected(router.answer(Request(method, path, fields: fields, body: body)))
    }

    private func filled(_ text: String) -> String {
        text.replacing(/\{\{(\w+)\.(\w+)\}\}/) { match in
            saved[String(match.1)]?.root[String(match.2)]?.string ?? "?"
        }
    }
}

/// A clock that a scene advances.
final class SceneClock: Sendable {
    private let seconds = Atomic(1_795_309_568)
    var now: Int { seconds.load(ordering: .sequentiallyConsistent) }
    func advance(by count: Int) { seconds.add(count, ordering: .sequentiallyConsistent) }
}

/// Answers in a comparable form.
enum SceneAnswer {
    /// Canonical JSON. Values at the given pointers become `*`, and lists of roles are sorted.
    static func text(
        _ value: JSONValue, masking pointers: Set<String>, without names: Set<String> = [], at place: String = ""
    ) -> String {
        if pointers.contains(place) { return "*" }
        switch value.kind {
        case .object:
            let members = value.members.compactMap { member -> String? in
                let name = member.name.string ?? ""
                return names.contains(name)
                    ? nil : "\"\(name)\":" + text(member.value, masking: pointers, at: "\(place)/\(name)")
            }
            return "{" + members.sorted().joined(separator: ",") + "}"
        case .array:
            var elements = value.elements.enumerated().map { text($1, masking: pointers, at: "\(place)/\($0)") }
            if place == "/roles" { elements.sort() }
            return "[" + elements.joined(separator: ",") + "]"
        case .string: return "\"\(value.string ?? "?")\""
        default: return String(decoding: value.bytes, as: UTF8.self)
        }
    }

    /// Channels and grants of `_raw`.
    static func decisions(_ value: JSONValue) -> String {
        let sync = value["_xattrs"]?["_sync"]
        let channels =
            sync?["channels"]?.members.filter { $0.value.kind == .null }.compactMap(\.name.string).sorted() ?? []
        let grants = ["access", "role_access"].map { name in
            let given = sync?[name]?.members.filter { $0.value.members.contains { _ in true } } ?? []
            return given.map { "\($0.name.string ?? ""): \(text($0.value, masking: []))" }.sorted()
        }
        return "\(channels) \(grants)"
    }
}

extension Store {
    /// In the recordings, a disabled GUEST uses no sequence.
    fileprivate func startAtZero() async throws {
        try await database.write { db in
            try db.execute(sql: "UPDATE counters SET value = 0 WHERE name = 'sequence'")
        }
        signal.restart(at: 0)
    }
}
