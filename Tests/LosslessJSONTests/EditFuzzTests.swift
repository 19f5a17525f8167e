import Foundation
import LosslessJSON
import TestKit
import Testing

/// Mutated documents that are still JSON: an edit and its reversal lose no byte.
@Suite struct EditFuzzTests {
    private static let seeds = [
        #"{"_id":"t","_rev":"3-917fa","n":-1.50e+10,"tags":["a","b",{"x":[]}],"n2":12345678901234567890,"":{"é":null}}"#,
        "{ \"a\" : [ 1 , 2.00 , { } ] ,\n\t\"b\" : \"\\ud83d\\ude00\\/\" , \"a/b~c\" : { \"d\" : false } }",
        #"{"_attachments":{"i":{"stub":true,"length":12,"digest":"sha1-x="}},"deep":[[[[{"k":[0,-0,1E400]}]]]]}"#,
    ].map { Array($0.utf8) }
    private static let interesting = Array("{}[]:,\"\\ \n0189eE+-.atfn".utf8) + [0xC3, 0xFF]

    @Test(arguments: 0..<4) func validTextsAreEditedLosslessly(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        let rounds = ProcessInfo.processInfo.environment["CHANGEBOT_FUZZ_ROUNDS"].flatMap { Int($0) } ?? 1500
        var edited = 0
        for round in 0..<rounds {
            var bytes = random.pick(Self.seeds)
            for _ in 0...random.below(3) {
                let place = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[place] = random.pick(Self.interesting)
                case 1: bytes.insert(random.pick(Self.interesting), at: place)
                case 2: bytes.remove(at: place)
                default:
                    let end = min(bytes.count, place + random.below(20))
                    bytes.insert(contentsOf: bytes[place..<end], at: random.below(bytes.count))
                }
            }
            guard let text = try? JSONText(bytes), text.root.kind == .object else { continue }
            edited += try expectLossless(text, "round \(round)", &random)
        }
        #expect(edited > rounds / 20)
    }

    /// Replaces a member and puts it back. Returns how many edits were possible.
    private func expectLossless(_ text: JSONText, _ comment: Comment, _ random: inout SplitMix64) throws -> Int {
        let names = text.root.members.compactMap { $0.name.utf8 }
        let unique = text.root.members.filter { member in names.count { $0 == member.name.utf8 ?? [] } == 1 }
        guard !unique.isEmpty else { return 0 }
        let member = random.pick(unique)
        guard let name = member.name.string, let pointer = try? JSONPointer("").appending(name) else { return 0 }
        // No pointer can express names that are not valid Unicode.
        guard text.root.value(at: pointer)?.range == member.value.range else { return 0 }
        let replaced: JSONText
        do { replaced = try text.setting(pointer, to: Array("[\"new\"]".utf8)) } catch { return 0 }
        let range = member.value.range
        #expect(replaced.bytes == text.replacing(range, with: #"["new"]"#.utf8), comment)
        let restored = try replaced.setting(pointer, to: Array(text.bytes[range]))
        #expect(restored.bytes == text.bytes, comment)
        return 1
    }
}
