import LosslessJSON
import TestKit
import Testing

/// Mutated documents and change rows: never a crash, and never accepted if json-c's strict mode finds an error.
@Suite struct ScannerFuzzTests {
    private static let seeds = [
        #"{"seq":"3-g1AAAACLeJzLYWBg","id":"task-1","changes":[{"rev":"3-917fa2381192822767f010b95b45325b"}],"#
            + #""doc":{"_id":"task-1","_rev":"3-917fa","type":"task","complete":false,"tags":["a","b"],"n":-1.50e+10}}"#,
        #"{"results":[{"seq":5,"id":"_user/anna","changes":[]},{"seq":"1::6","id":"x","deleted":true,"#
            + #""changes":[{"rev":"2-b"}]}],"last_seq":"1::6"}"#,
        #"{"überschrift":"Grüße \u00e9\ud83d\ude00\n","日本":"😀","a\u0062":[true,false,null,{"":[[]]}],"z":0}"#,
        #"[0,-0,1.10,1E400,1e-7,123456789012345678901234567890,{"_attachments":{"image":{"stub":true,"length":12}}}]"#,
    ].map { Array($0.utf8) }
    private static let interesting =
        Array("{}[]:,\"\\/ \n\tutfnbr0123456789eE+-.aé😀\u{7F}\0\u{1F}".utf8) + [0xC0, 0xED, 0xFF]

    @Test(arguments: 0..<4) func mutationsNeverCrashAndInvalidJSONIsRefused(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var accepted = 0
        for _ in 0..<10_000 {
            var text = Self.seeds[seed]
            for _ in 0...random.below(3) { mutate(&text, &random) }
            switch scan(text) {
            case .success(let document):
                accepted += 1
                walk(document)
                #expect(JSONC.acceptsStrictly(text), "\(String(decoding: text, as: UTF8.self))")
            case .failure(let error):
                #expect((0...text.count).contains(error.offset))
                #expect((error.reason == .unexpectedEnd) == (error.offset == text.count) || error.offset < text.count)
            }
        }
        #expect(accepted > 500, "most mutations miss the point")
    }

    private func mutate(_ text: inout [UInt8], _ random: inout SplitMix64) {
        guard !text.isEmpty else { return }
        let place = random.below(text.count)
        switch random.below(7) {
        case 0: text[place] = random.pick(Self.interesting)
        case 1: text[place] ^= 1 << UInt8(random.below(8))
        case 2: text.insert(random.pick(Self.interesting), at: place)
        case 3: text.remove(at: place)
        case 4: text.removeSubrange(place..<min(text.count, place + random.below(12)))
        case 5: text.replaceSubrange(place..<place, with: text[place..<min(text.count, place + random.below(40))])
        default: text.swapAt(place, random.below(text.count))
        }
    }

    /// Reads everything on the tape.
    private func walk(_ document: JSONText) {
        let model = Model(document.root)
        #expect(document.root.isEquivalent(to: document.root))
        #expect(JSONCollation.compare(document.root, document.root) == .equal)
        #expect(Model(document.root.copied()?.root ?? document.root) == model)
        _ = try? document.merging(document.root)
        _ = document.root.value(at: JSONPointer(tokens: ["doc", "tags", "1"]))
    }
}
