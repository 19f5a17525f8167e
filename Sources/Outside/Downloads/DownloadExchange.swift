internal import AccessTokens
internal import BotState
internal import Encodings
internal import HTTPTransport
internal import Rules

/// One request for a content, and the meaning of its response.
struct DownloadExchange: Sendable {
    enum Outcome: Sendable {
        /// - Parameter freshness: How long the content may be used without asking again. Nil: it must not be cached.
        case content(AttachmentContent, DownloadRecord, freshness: Duration?)
        /// 304: the content has not changed since ``known``.
        case same(freshness: Duration?)
        /// Refused for good: the document becomes a dead letter.
        case refused(reason: String)
        case failed(ReceiverFailure)
    }

    /// How long a content is used without asking again, unless the server says so.
    static let defaultFreshness: Duration = .seconds(300)
    private static let maxFreshness = 86_400
    /// The maximum number of characters of an `ETag` or `Last-Modified` that is sent back.
    private static let validatorLimit = 1024

    let request: DownloadRequest
    /// The record of an earlier download, for a conditional request. Nil: the content is needed.
    let known: DownloadRecord?
    /// That of the token file.
    let token: String?

    /// Follows no redirect, and reads at most `max_size` bytes.
    func run(_ client: HTTPClient) async -> Outcome {
        do {
            guard let tokens = request.tokens else { return try await judge(try await client.send(httpRequest(token))) }
            return try await judge(
                try await tokens.authorize(request.place, send: { try await client.send(httpRequest($0.text)) }))
        } catch let error as HTTPTransportError {
            return judge(error)
        } catch let error as TokenError {
            return .failed(ReceiverFailure(error))
        } catch {
            return .failed(
                error as? ReceiverFailure
                    ?? ReceiverFailure(reason: "\(error)", summary: "\(error)", cause: .brokenOff))
        }
    }

    private func httpRequest(_ token: String?) -> HTTPRequest {
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
        case 304 where known != nil: return .same(freshness: Self.freshness(response.headers))
        case 300..<400:
            return refused(
                "answered HTTP \(status), a redirect; redirects are not followed: set 'url' to the new address")
        case 401, 403:
            let remedy =
                request.tokens == nil
                ? "check 'token_file', and the token's permissions" : "check the permissions of its client"
            return refused("answered HTTP \(status): \(remedy)")
        case 404, 410: return refused("answered HTTP \(status): there is no such content")
        default: return refused("answered HTTP \(status) instead of content")
        }
    }

    private func content(_ response: HTTPResponse) async throws(HTTPTransportError) -> Outcome {
        let headers = response.headers
        if let coding = headers["Content-Encoding"], coding.lowercased() != "identity" {
            return refused("sent compressed content, which was not requested")
        }
        let type = headers["Content-Type"].flatMap { AttachmentContent.isType($0) ? $0 : nil }
        guard let type, request.permits(type) else {
            return refused(
                "sent \(type ?? "content without a type") instead of \(request.types.joined(separator: ", ")); "
                    + "correct the URL, or add the type to 'types'")
        }
        if let length = headers["Content-Length"].flatMap(Int.init), length > request.lengthLimit { return tooLarge }
        let bytes: [UInt8]
        do throws(HTTPTransportError) { bytes = try await response.body.collect(upTo: request.lengthLimit) } catch {
            if error.code == .tooLarge { return tooLarge }
            throw error
        }
        guard !bytes.isEmpty else { return refused("sent empty content") }
        let content = AttachmentContent(bytes)
        let record = DownloadRecord(
            etag: Self.validator(headers["ETag"]), lastModified: Self.validator(headers["Last-Modified"]),
            sha1: content.sha1, md5: content.md5, length: content.length, contentType: type)
        return .content(content, record, freshness: Self.freshness(headers))
    }

    /// Nil if the validator can't be sent back, or is longer than servers accept. Then the content is downloaded
    /// again.
    private static func validator(_ value: String?) -> String? {
        value.flatMap { value in
            let isUsable =
                (1...validatorLimit).contains(value.utf8.count) && value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            return isUsable ? value : nil
        }
    }

    private var tooLarge: Outcome {
        refused(
            "sent more than \(request.lengthLimit.counted("byte")); raise 'max_size' (up to 20MB), or reduce the content"
        )
    }

    private func refused(_ what: String) -> Outcome { .refused(reason: "\(request.place) \(what)") }

    /// How long a response may be used without asking again, at most a day. Nil if it must not be cached.
    ///
    /// - Note: Source: RFC 9111, section 5.2.2.
    static func freshness(_ headers: HTTPHeaders) -> Duration? {
        let fields = headers.values(of: "Cache-Control").joined(separator: ",").lowercased().filter { $0 != " " }
        let directives = fields.split(separator: ",").map(String.init)
        if directives.contains("no-store") { return nil }
        if directives.contains("no-cache") { return .zero }
        guard let age = directives.first(where: { $0.hasPrefix("max-age=") }) else { return defaultFreshness }
        let digits = age.dropFirst("max-age=".count)
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return defaultFreshness }
        return .seconds(min(Int(digits) ?? .max, maxFreshness))
    }

    // MARK: - Failures

    private func judge(_ error: HTTPTransportError) -> Outcome {
        switch error.code {
        case .addressRefused:
            return refused(
                "has a link-local address, which is refused because cloud providers serve credentials there; correct "
                    + "the host in 'url'")
        case .badURL, .invalidRequest, .tooLarge, .malformedAnswer: return refused("is unusable: \(error.message)")
        default: break
        }
        return .failed(ReceiverFailure(error))
    }
}
