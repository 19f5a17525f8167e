internal import Encodings

/// A page in one file: HTML with one `<style>` and one `<script>`, without external resources.
package struct SelfContainedPage: Sendable {
    package let html: [UInt8]
    /// Allows only the page's own style and script, so that nothing in a document can be loaded or run.
    package let policy: String

    /// - Parameters:
    ///   - html: The page.
    ///   - hasLibraries: Whether it also loads scripts and styles from files of its server.
    package init(html: [UInt8], hasLibraries: Bool = false) {
        self.html = html
        let text = String(decoding: html, as: UTF8.self)
        let own = hasLibraries ? "'self' " : ""
        policy =
            "default-src 'none'; img-src data:; connect-src 'self'; style-src \(own)\(Self.source("style", text)); "
            + "script-src \(own)\(Self.source("script", text)); base-uri 'none'; form-action 'none'; "
            + "frame-ancestors 'none'"
    }

    /// - Note: Source: Content Security Policy Level 3, section 2.3.1, hash-source.
    private static func source(_ tag: String, _ html: String) -> String {
        guard let opening = html.firstRange(of: "<\(tag)>"), let closing = html.firstRange(of: "</\(tag)>") else {
            return "'none'"
        }
        let content = Array(html[opening.upperBound..<closing.lowerBound].utf8)
        return "'sha256-\(Base64.text(Digest.sha256(content)))'"
    }
}

extension Answer {
    /// The answer with fields that keep browsers from storing it, guessing its type, and telling its address to others.
    package var secured: Answer {
        var answer = self
        answer.fields += [
            HTTPField("Cache-Control", "no-store"), HTTPField("X-Content-Type-Options", "nosniff"),
            HTTPField("Referrer-Policy", "no-referrer"),
        ]
        return answer
    }

    /// A page with its policy.
    package static func page(_ page: SelfContainedPage) -> Answer {
        Answer(
            status: 200,
            fields: [
                HTTPField("Content-Type", "text/html; charset=utf-8"),
                HTTPField("Content-Security-Policy", page.policy),
            ], body: .whole(page.html))
    }
}

/// The host that a request names, in its `Host` field.
package struct RequestedHost {
    /// Without the port, in lower case; an IPv6 address in brackets. The whole field if it has another form, so that it
    /// is no known name.
    package let name: String

    package init(_ field: String) {
        let host = field.wholeMatch(of: /(\[[^\[\]]*\]|[^\[\]:]*)(:[0-9]*)?/).map { String($0.1) }
        name = (host ?? field).lowercased()
    }

    /// Whether it is an address, which can't belong to another site.
    package var isAddress: Bool { isIPv6 || isIPv4 }

    /// Whether it is a name or an address that only this machine has.
    package var isLoopback: Bool {
        name == "localhost" || name == "[::1]"
            || isIPv4 && name.hasPrefix("127.") && name.split(separator: ".").count == 4
    }

    private var isIPv6: Bool { name.hasPrefix("[") && name.firstIndex(of: "]") == name.indices.last }

    private var isIPv4: Bool { name.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") } }
}
