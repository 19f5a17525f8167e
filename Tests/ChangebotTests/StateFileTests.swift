import Foundation
import GRDB
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Only the owner can read the program's files, and links can't redirect them.
@Suite(.limitedParallelism) struct StateFileTests {
    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private static let rules =
        "  - { name: r, when: { type: t, x: { $exists: false } }, then: [{ merge: { x: 1 } }] }\n"

    @Test func stateIsReadableByItsOwnerOnly() async throws {
        try await CommandTestBed.with([#"{"_id":"a","type":"t"}"#], rules: Self.rules) { bed in
            let bot = try bed.startDaemon()
            try await bed.wait(for: "a") { $0["x"] != nil }
            let names = try FileManager.default.contentsOfDirectory(atPath: bed.state)
            #expect(Set(names).isSuperset(of: ["changebot.sqlite", "changebot.sqlite-wal", "changebot.lock"]))
            for name in names { #expect(try mode(bed.state + "/" + name) == 0o600, "\(name)") }
            #expect(try mode(bed.state) == 0o700)
            bot.signal(SIGTERM)
            #expect(await bot.wait() == 0)
            for name in try FileManager.default.contentsOfDirectory(atPath: bed.state) {
                #expect(try mode(bed.state + "/" + name) == 0o600, "\(name)")
            }
        }
    }

    @Test(arguments: [("changebot.sqlite", 78), ("changebot.lock", 73)] as [(String, Int32)])
    func linkInPlaceOfTheStateIsRefused(name: String, code: Int32) async throws {
        try await CommandTestBed.with(rules: Self.rules) { bed in
            let elsewhere = bed.folder + "/elsewhere"
            try Data("kept".utf8).write(to: URL(fileURLWithPath: elsewhere))
            try FileManager.default.createDirectory(atPath: bed.state, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: bed.state + "/" + name, withDestinationPath: elsewhere)
            let result = try await bed.runOnce()
            #expect(result.code == code, "\(result.errors)")
            #expect(result.errors.contains(name), "\(result.errors)")
            #expect(try String(contentsOfFile: elsewhere, encoding: .utf8) == "kept")
        }
    }
}
