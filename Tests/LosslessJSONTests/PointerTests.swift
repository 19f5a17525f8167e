import LosslessJSON
import Testing

@Suite struct PointerTests {
    /// RFC 6901, section 5.
    private let document =
        #"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8}"#

    @Test(arguments: [
        ("/foo", #"["bar","baz"]"#), ("/foo/0", "\"bar\""), ("/", "0"), ("/a~1b", "1"), ("/c%d", "2"), ("/e^f", "3"),
        ("/g|h", "4"),
        ("/i\\j", "5"), ("/k\"l", "6"), ("/ ", "7"), ("/m~0n", "8"),
    ])
    func examplesOfTheRFC(pointer: String, expected: String) throws {
        let value = try #require(try json(document).value(at: JSONPointer(pointer)))
        #expect(String(decoding: value.bytes, as: UTF8.self) == expected)
    }

    @Test func emptyPointerIsTheDocument() throws {
        let root = try json(document)
        #expect(try root.value(at: JSONPointer(""))?.index == root.index)
    }

    @Test(arguments: [
        "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/-1", "/foo/1e0", "/foo/", "/foo/٠",
        "/foo/18446744073709551616",
        "/foo/0/0", "/nope", "//", "/m~01n",
    ])
    func pointerToAMissingPlaceFindsNothing(pointer: String) throws {
        #expect(try json(document).value(at: JSONPointer(pointer)) == nil)
    }

    @Test(arguments: [
        ("foo", JSONPointerError.missingSlash("foo")), ("#/foo", .missingSlash("#/foo")), ("/~", .invalidEscape("/~")),
        ("/a~2", .invalidEscape("/a~2")), ("/~~0", .invalidEscape("/~~0")), ("/a~/b", .invalidEscape("/a~/b")),
    ])
    func invalidPointersAreRefused(text: String, error: JSONPointerError) {
        #expect(throws: error) { try JSONPointer(text) }
        #expect(error.description.contains(text))
    }

    @Test(arguments: ["", "/", "//", "/a~1b/~0/é/0", "/~01", "/ /\u{0}"]) func pointerPrintsAsItWasParsed(text: String)
        throws
    {
        #expect(try JSONPointer(text).description == text)
    }

    @Test func pointerHasParentAndChildren() throws {
        let pointer = try JSONPointer("/a/b")
        #expect(try pointer.parent == JSONPointer("/a"))
        #expect(JSONPointer(tokens: []).parent == nil)
        #expect(pointer.appending("c/d").description == "/a/b/c~1d")
    }

    @Test func equivalentNamesAreDifferentPlaces() throws {
        let composed = JSONPointer(tokens: ["\u{E9}"])
        let decomposed = JSONPointer(tokens: ["e\u{301}"])
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(JSONPointer(tokens: ["a", "b"]) != JSONPointer(tokens: ["ab"]))
    }

    @Test func lastDuplicateMemberCounts() throws {
        #expect(try json(#"{"a":{"b":1},"a":{"b":2}}"#).value(at: JSONPointer("/a/b"))?.integer == 2)
    }

    /// A pointer is text, which can't contain a lone surrogate.
    @Test func loneSurrogateIsNotItsReplacementCharacter() throws {
        #expect(try json(#"{"\ud800":1}"#).value(at: JSONPointer("/\u{FFFD}")) == nil)
        #expect(try json(#"{"\ud800":1,"\ufffd":2}"#).value(at: JSONPointer("/\u{FFFD}"))?.integer == 2)
    }
}
