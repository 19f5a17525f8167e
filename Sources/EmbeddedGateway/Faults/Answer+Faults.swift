internal import HTTPServing
internal import NIOConcurrencyHelpers

extension Answer {
    /// Splits the body into pieces of at most `count` bytes, each sent separately.
    func sliced(_ count: Int, _ pause: Duration) -> Answer {
        mappingBody { [kept] bytes, send in
            for start in stride(from: 0, to: bytes.count, by: count) {
                let slice = Array(bytes[start..<min(start + count, bytes.count)])
                try await kept.counting(bytes.count) { try await send(slice) }
                if pause > .zero { try await Task.sleep(for: pause) }
            }
        }
    }

    /// Sends the first `count` bytes of the body, then closes the connection. 0: not even the head is sent.
    func cut(after count: Int) -> Answer {
        guard count > 0 else { return .withheld() }
        let left = NIOLockedValueBox(count)
        return mappingBody { [kept] bytes, send in
            let (part, isCut) = left.withLockedValue { left in
                let part = bytes.prefix(left)
                left -= part.count
                return (part, part.count < bytes.count)
            }
            try await kept.counting(bytes.count) { try await send(Array(part)) }
            if isCut { throw ConnectionCut() }
        }
    }

    /// Passes each piece of the body through `pass`. The head is unchanged.
    private func mappingBody(_ pass: @escaping @Sendable ([UInt8], Send) async throws -> Void) -> Answer {
        var answer = self
        switch body {
        case .none, .withheld: return self
        case .whole(let bytes):
            answer.fields.append(HTTPField("Content-Length", String(bytes.count)))
            answer.body = .streamed { send in try await pass(bytes, send) }
        case .streamed(let make):
            answer.body = .streamed { send in try await make { bytes in try await pass(bytes, send) } }
        }
        return answer
    }
}
