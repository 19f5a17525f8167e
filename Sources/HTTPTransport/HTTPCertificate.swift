internal import Encodings

/// The facts of a certificate that users need.
package struct HTTPCertificate: Sendable, Equatable {
    /// Such as `CN = gateway.example.org`.
    package let subject: String
    /// The subject of the authority that signed it.
    package let issuer: String
    /// The hosts that it is for: `gateway.example.org`, `127.0.0.1`. Empty if it names none.
    package let names: [String]
    /// In seconds since 1970; nil if the date's format is unknown.
    package let validFrom: Int?
    /// As ``validFrom``.
    package let expires: Int?

    /// - Parameter fields: `NAME:VALUE`, as libcurl writes them with OpenSSL.
    /// - Note: Source: `CURLINFO_CERTINFO(3)`; `lib/vtls/openssl.c` of 7.88 for the names.
    package init(fields: [String]) {
        func field(_ name: String) -> String? {
            fields.first { $0.hasPrefix(name + ":") }.map { String($0.dropFirst(name.count + 1)) }
        }
        subject = field("Subject") ?? ""
        issuer = field("Issuer") ?? ""
        names = (field("X509v3 Subject Alternative Name") ?? "").split(separator: ",").compactMap { name in
            let name = name.drop { $0 == " " }
            let kinds = ["DNS:", "IP Address:"]
            return kinds.first { name.hasPrefix($0) }.map { String(name.dropFirst($0.count)) }
        }
        validFrom = field("Start date").flatMap(Self.seconds)
        expires = field("Expire date").flatMap(Self.seconds)
    }

    /// `Jan  1 00:00:00 2090 GMT`, as `ASN1_TIME_print(3)` writes it.
    private static func seconds(_ text: String) -> Int? {
        let words = text.split(separator: " ")
        guard words.count == 5, words[4] == "GMT" else { return nil }
        // The same parts in the order of an HTTP date; the day of the week is not checked.
        return HTTPDate("Mon, \(words[1]) \(words[0]) \(words[3]) \(words[2]) GMT")?.seconds
    }
}
