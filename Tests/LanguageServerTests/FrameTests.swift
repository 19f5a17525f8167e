import LanguageServer
import Testing

@Suite struct FrameTests {
    private static func frames(_ chunks: [[UInt8]]) -> [MessageFrames.Frame] {
        var frames = MessageFrames()
        var found: [MessageFrames.Frame] = []
        for chunk in chunks {
            frames.add(chunk)
            while let frame = frames.next() {
                found.append(frame)
                if frame == .unreadable { return found }
            }
        }
        return found
    }

    private static func message(_ text: String) -> MessageFrames.Frame { .message(Array(text.utf8)) }

    @Test func messagesCutAtEveryByte() {
        let bytes = Array(
            "Content-Length: 2\r\n\r\n{}Content-Type: x\r\ncontent-length:3\r\n\r\n[1]Content-Length: 0\r\n\r\n".utf8)
        let expected = [Self.message("{}"), Self.message("[1]"), Self.message("")]
        #expect(Self.frames([bytes]) == expected)
        #expect(Self.frames(bytes.map { [$0] }) == expected)
        for cut in bytes.indices {
            #expect(Self.frames([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected, "\(cut)")
        }
    }

    @Test(arguments: [
        "Content-Length: x\r\n\r\n", "Content-Length: -2\r\n\r\n", "Content-Length: +2\r\n\r\n",
        "Content-Length:\r\n\r\n",
        "Content-Length: 2 2\r\n\r\n", "X: 2\r\n\r\n", "\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
    ])
    func headerWithoutLengthIsSkipped(header: String) {
        #expect(
            Self.frames([Array((header + "Content-Length: 2\r\n\r\n{}").utf8)]) == [.badHeader, Self.message("{}")])
    }

    @Test(arguments: ["Content-Length: 99999999999\r\n\r\n", "Content-Length: 99999999999999999999999\r\n\r\n"])
    func tooLongMessageEndsTheConnection(header: String) {
        #expect(Self.frames([Array(header.utf8)]) == [.unreadable])
    }

    @Test func endlessHeaderEndsTheConnection() {
        #expect(Self.frames(Array(repeating: Array("Content-Length: 2\r\n".utf8), count: 1000)) == [.unreadable])
        #expect(Self.frames([Array(repeating: 0, count: 100_000)]) == [.unreadable])
    }

    @Test func lengthCountsBytes() {
        #expect(MessageFrames.framed(Array("\"é\"".utf8)).starts(with: "Content-Length: 4\r\n\r\n".utf8))
    }
}
