import Testing

@testable import LosslessJSON

/// Hostile nesting: refused beyond the limit. Within the limit, nothing recurses.
@Suite struct DepthTests {
    private static func nested(_ depth: Int, _ opening: String, _ closing: String, _ core: String = "") -> [UInt8] {
        Array((String(repeating: opening, count: depth) + core + String(repeating: closing, count: depth)).utf8)
    }

    private static func objects(_ depth: Int, _ core: String = "1") -> [UInt8] { nested(depth, "{\"a\":", "}", core) }

    @Test(arguments: [("[", "]", ""), ("{\"a\":", "}", "1"), ("[{\"a\":", "}]", "1")])
    func thousandLevelsAreAccepted(opening: String, closing: String, core: String) throws {
        _ = try JSONText(Self.nested(1000, opening, closing, core))
    }

    @Test func depthLimitIsAcceptedAndOneLevelMoreIsRefused() throws {
        let limits = JSONLimits(depth: 100)
        #expect(scan(Self.nested(100, "[", "]"), limits: limits).isSuccess)
        #expect(try error(of: Self.nested(101, "[", "]"), limits: limits) == JSONError(.tooDeep(limit: 100), at: 100))
        #expect(try error(of: Self.nested(101, "[", ""), limits: limits) == JSONError(.tooDeep(limit: 100), at: 100))
        #expect(try error(of: Self.nested(10_001, "[", "]")).reason == .tooDeep(limit: 10_000))
    }

    @Test func depthCountsOnlyOpenContainers() throws {
        let limits = JSONLimits(depth: 2)
        #expect(scan("[[],[],{},[]]".utf8, limits: limits).isSuccess)
        #expect(scan("1".utf8, limits: JSONLimits(depth: 0)).isSuccess)
    }

    @Test func hundredThousandLevelsDoNotOverflowTheStack() throws {
        let limits = JSONLimits(depth: 100_000)
        let left = try JSONText(Self.objects(100_000), limits: limits).root
        let right = try JSONText(Self.objects(100_000, "1.0"), limits: limits).root
        #expect(JSONCollation.compare(left, right) == .equal)
        #expect(JSONCollation.areEqual(left, right))
        #expect(left.isEquivalent(to: right))
        #expect(left.withoutNulls().count == left.bytes.count)
        #expect(left.duplicateMemberName == nil)
        #expect(left.childCount == 1)
        #expect(try JSONText(Self.nested(100_000, "[", "]"), limits: limits).root.childCount == 1)
    }

    @Test func mergingAtTheDepthLimitDoesNotOverflowTheStack() throws {
        let text = try JSONText(Self.objects(10_000))
        #expect(try text.merging(text.root) === text)
        let changed = try text.merging(JSONText(Self.objects(10_000, "2")).root)
        #expect(changed.bytes == Self.objects(10_000, "2"))
        let fresh = try JSONText("{}").merging(JSONText(Self.objects(10_000, "null")).root)
        #expect(fresh.bytes == Self.objects(9_999, "{}"))
    }

    @Test func tooDeepEditIsRefused() throws {
        let text = try JSONText(Self.objects(10_000))
        let pointer = JSONPointer(tokens: Array(repeating: "a", count: 10_000))
        #expect(throws: JSONEditError.self) { try text.setting(pointer, to: "{}".utf8) }
    }
}
