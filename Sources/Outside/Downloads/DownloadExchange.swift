internal import BotState
internal import Encodings
internal import HTTPTransport
internal import Rules

/// One request for a content, and what its answer means.
struct DownloadExchange: Sendable {
    /// What came of it.
    enum Outcome: Sendable {
        /// - Parameter span: How long it may be used without asking again; nil: it must not be kept.
        case content(AttachmentContent, DownloadRecord, span: Duration?)
        /// It is the content of the record that was sent along.
        case same(span: Duration?)
        /// For good: the document becomes a dead letter.
        case refused(reason: String)
        case failed(ReceiverFailure)
    }

    /// How long a content is used without asking again, unless its server says it.
    static let usualSpan: Duration = .seconds(300)
    private static let longestSpan = 86_400
    /// The most characters of an `ETag` or `Last-Modified` that is sent back.
    private static let validatorLimit = 1024

    let request: DownloadRequest
    /// What is known of the content; nil: it is wanted in any case.
    let known: DownloadRecord?
    let token: String?

    /// Follows no redirect, and reads no more than permitted.
    func run(_ client: HTTPClient) async -> Outcome {
        do throws(HTTPTransportError) { return try await judge(try await client.send(httpRequest)) } catch {
            return judge(error)
        }
    }

    private var httpRequest: HTTPRequest {
        var headers = [(name: "Accept", value: request.types.joined(separator: ", "))]
        if let etag = known?.etag { headers.append(("If-None-Match", etag)) }
        if let date = known?.lastModified { headers.append(("If-Modified-Since", date)) }
        return HTTPRequest(
            url: request.url, headers: headers, credentials: token.map { .bearer(token: $0) },
            deadline: request.timeout)
    }

    // MARK: - Answers

    private func judge(_ response: HTTPResponse) async throws(HTTPTransportError) -> Outcome {
        let status = response.status
        if let failure = ReceiverFailure(response, of: request.place) { return .failed(failure) }
        switch status {
        case 200: return try await content(response)
        case 304 where known != nil: return .same(span: Self.span(response.headers))
        case 300..<400:
            return refused(
                "answered HTTP \(status), a redirect; redirects are not followed: write the new address as 'url'")
        case 401, 403: return refused("answered HTTP \(status): check 'token_file', and what it permits there")
        case 404, 410: return refused("answered HTTP \(status): there is no such content")
        default: return refused("answered HTTP \(status) instead of a content")
        }
    }

    private func content(_ response: HTTPResponse) async throws(HTTPTransportError) -> Outcome {
        let headers = response.headers
        if let coding = headers["Content-Encoding"], coding.lowercased() != "identity" {
            return refused("answered a compressed content, which was not asked for")
        }
        let type = headers["Content-Type"].flatMap { AttachmentContent.isType($0) ? $0 : nil }
        guard let type, request.permits(type) else {
            return refused(
                "gives \(type ?? "a content without a type"), not \(request.types.joined(separator: ", ")); "
                    + "correct the URL, or add the type to 'types'")
        }
        if let length = headers["Content-Length"].flatMap(Int.init), length > request.lengthLimit { return tooLarge }
        let bytes: [UInt8]
        do throws(HTTPTransportError) { bytes = try await response.body.collect(upTo: request.lengthLimit) } catch {
            if error.code == .tooLarge { return tooLarge }
            throw error
        }
        guard !bytes.isEmpty else { return refused("gives an empty content") }
        let content = AttachmentContent(bytes)
        let record = DownloadRecord(
            etag: Self.validator(headers["ETag"]), lastModified: Self.validator(headers["Last-Modified"]),
            sha1: content.sha1, md5: content.md5, length: content.length, contentType: type)
        return .content(content, record, span: Self.span(headers))
    }

    /// Nil for one that can't be sent back, or that a server would refuse for its length: then the content is downloaded
    /// again instead.
    private static func validator(_ value: String?) -> String? {
        value.flatMap { value in
            let isUsable =
                (1...validatorLimit).contains(value.utf8.count) && value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            return isUsable ? value : nil
        }
    }

    private var tooLarge: Outcome {
        refused(
            "gives more than \(request.lengthLimit.counted("byte")); raise 'max_size' (up to 20MB), or let it be smaller"
        )
    }

    private func refused(_ what: String) -> Outcome { .refused(reason: "\(request.place) \(what)") }

    /// How long an answer may be used without asking again, at most a day; nil if it must not be kept.
    ///
    /// - Note: Source: RFC 9111, section 5.2.2.
    static func span(_ headers: HTTPHeaders) -> Duration? {
        let fields = headers.values(of: "Cache-Control").joined(separator: ",").lowercased().filter { $0 != " " }
        let directives = fields.split(separator: ",").map(String.init)
        if directives.contains("no-store") { return nil }
        if directives.contains("no-cache") { return .zero }
        guard let age = directives.first(where: { $0.hasPrefix("max-age=") }) else { return usualSpan }
        let digits = age.dropFirst("max-age=".count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return usualSpan }
        return .seconds(min(Int(digits) ?? .max, longestSpan))
    }

    // MARK: - Failures

    private func judge(_ error: HTTPTransportError) -> Outcome {
        switch error.code {
        case .addressRefused:
            return refused(
                "has a link-local address: clouds give away a machine's credentials there; correct the host in 'url'")
        case .badURL, .invalidRequest, .tooLarge, .malformedAnswer: return refused("can't be used: \(error.message)")
        default: break
        }
        return .failed(ReceiverFailure(error))
    }
}
