import LosslessJSON
import TestKit
import Testing

@testable import Rules

@Suite(.limitedParallelism) struct WebhookActionTests {
    private func rule(_ webhook: String, _ more: String = "when: {}") -> String {
        "version: 1\nrules:\n- { name: a, \(more), then: [{ webhook: { \(webhook) } }] }\n"
    }

    private func effects(_ decision: Decision) -> [WebhookEffect] {
        decision.outside.compactMap { if case .webhook(let webhook) = $0.kind { webhook } else { nil } }
    }

    private func shown(_ webhook: String, _ document: String) async throws -> String {
        let set = try ruleSet(rule(webhook))
        let decision = try await set.decided(document)
        if let error = decision.error { return error.reason }
        var writer = JSONWriter()
        DecisionReport(try JSONText(document), decision, names: set.names).writeEffects(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    // MARK: - Reading

    @Test(arguments: [
        ("", "'url' is missing; say where to send it: url: https://example.org/hook"),
        (
            "url: {jq: .url}",
            "'url' can't be computed: a document must not choose the receiver; write out the scheme, host and port"
        ),
        ("url: 'ftp://h/'", "'url' must begin with https:// or http://"),
        ("url: 'https://amy:secret@h/'", "'url' must not contain a user or password"),
        ("url: 'https://h/a#b'", "'url' has a fragment, which is never sent"),
        ("url: 'https://h:0/'", "'url' has no valid host and port ('h:0')"),
        ("url: 'https:///a'", "'url' has no valid host and port ('')"),
        ("url: 'https://h h/'", "'url' has no valid host and port ('h h')"),
        ("url: 'https://h/a b'", "'url' can't contain the character ' '; percent-encode it"),
        ("url: 'https://h/%4'", "'url' can't contain the character '%'; percent-encode it"),
        ("url: 'https://h', path: a", "the path must begin with '/'; it is 'a'"),
        ("url: 'https://h', path: /a/../b", "the path can't contain the segments '.' and '..'"),
        ("url: 'https://h', method: GET", "'method' must be POST (the default), PUT, PATCH or DELETE"),
        ("url: 'https://h', body: xml", "'body' must be cloudevents (the default), cloudevents-binary, document, none"),
        ("url: 'https://h', body: document, event: {type: a}", "'event' is for CloudEvents only"),
        ("url: 'https://h', event: {source: 'a b'}", "the event's source must be a URI reference such as /orders"),
        ("url: 'https://h', timeout: 10", "'timeout' must be a time with its unit"),
        ("url: 'https://h', timeout: 1h", "'timeout' is at most 5m; lower it"),
        ("url: 'https://h', timeout: 301s", "'timeout' is at most 5m; lower it"),
        ("url: 'https://h', retries: 3", "'retries' is not known to this version"),
        ("url: 'https://h', headers: [a]", "'headers' must be an object"),
        ("url: 'https://h', headers: {Host: a}", "the header 'Host' is set by the connection; remove it"),
        ("url: 'https://h', headers: {content-length: '1'}", "the header 'content-length' is set by the connection"),
        ("url: 'https://h', headers: {Webhook-Id: a}", "the header 'Webhook-Id' belongs to the signature"),
        ("url: 'https://h', headers: {Content-Type: a/b}", "the header 'Content-Type' is set by 'body: cloudevents'"),
        ("url: 'https://h', body: cloudevents-binary, headers: {ce-id: a}", "the header 'ce-id' belongs to the event"),
        ("url: 'https://h', headers: {X: a, x: b}", "the header 'x' appears twice; remove one"),
        ("url: 'https://h', headers: {'X Y': a}", "'X Y' is not a header name"),
        ("url: 'https://h', headers: {X: \"a\\nb\"}", "a header can't contain line breaks or control characters"),
        ("url: 'https://h', headers: {Authorization: Bearer abc}", "a rule file must not contain credentials"),
        (
            "url: 'https://h', token_file: t, headers: {authorization: {file: f}}",
            "the header Authorization is given too; remove one of them"
        ),
        ("url: 'https://h', user: amy", "'user' needs a password; add password_file: PATH"),
        ("url: 'https://h', password_file: p", "'password_file' needs a user; add user: NAME"),
        ("url: 'https://h', user: 'a:b', password_file: p", "'user' can't contain ':'"),
        (
            "url: 'https://h', user: a, password_file: p, token_file: t",
            "'user' and 'token_file' are two ways to log in"
        ),
        ("url: 'https://h', key_file: k", "'key_file' is the key of a certificate; add certificate_file: PATH"),
        ("url: 'http://h', ca_file: k", "'ca_file' has no meaning with http://; write https://"),
        ("url: 'https://h', secret_files: []", "'secret_files' must be a list with one path, or two"),
        ("url: 'https://h', secret_files: [a, b, c]", "'secret_files' must be a list with one path, or two"),
        ("url: 'https://h', secret_files: [1]", "a path must be text"),
        ("url: 'https://h', signature: github", "'signature' needs a secret; add secret_files: [PATH]"),
        (
            "url: 'https://h', secret_files: s, signature: gitlab",
            "'signature' must be standard-webhooks (the default), github, or { header: NAME, encoding: hex }"
        ),
        ("url: 'https://h', secret_files: s, signature: {}", "'header' is missing; name the header"),
        ("url: 'https://h', secret_files: s, signature: {header: 'X Y'}", "'X Y' is not a header name"),
        ("url: 'https://h', secret_files: s, signature: {header: Host}", "the header 'Host' is set by the connection"),
        (
            "url: 'https://h', secret_files: s, signature: {header: X, encoding: base32}",
            "'encoding' must be one of hex, base64 (default hex)"
        ),
        (
            "url: 'https://h', secret_files: s, signature: {header: X, algorithm: md5}",
            "'algorithm' must be one of sha256, sha512, sha1 (default sha256)"
        ),
        (
            "url: 'https://h', secret_files: [s, t], signature: github",
            "the header 'x-hub-signature-256' holds one signature: name one file"
        ),
        (
            "url: 'https://h', secret_files: s, signature: {header: X}, headers: {x: a}",
            "the header 'x' is given too; remove it from 'headers'"
        ),
        (
            "url: 'https://h', token_file: t, secret_files: s, signature: {header: Authorization}",
            "the header Authorization is given too; remove one of them"
        ),
        (
            "url: 'https://h', client_id: c, client_secret_file: s",
            "'client_id' needs 'token_url': OAuth client credentials have token_url, client_id and client_secret_file"
        ),
        ("url: 'https://h', scope: c", "'scope' needs 'token_url'"),
        ("url: 'https://h', audience: c", "'audience' needs 'token_url'"),
        (
            "url: 'https://h', token_url: 'https://amy:secret@i/', client_id: c, client_secret_file: s",
            "'token_url' must not contain a user or password"
        ),
        (
            "url: 'https://h', token_url: 'https://i/', client_id: c, client_secret_file: s, client_auth: header",
            "'client_auth' must be basic (the default) or body"
        ),
        ("url: 'https://h', api_key_file: k, scope: s", "'api_key_file' and 'scope' are two ways to get a token"),
        ("url: 'https://h', token_command: [a], api_key_file: k", "'token_command' and 'api_key_file' are two ways"),
        ("url: 'https://h', token_command: [a, 1]", "'token_command' must be a command line, or a list of a program"),
        (
            "url: 'https://h', token_command: a, token_file: t",
            "'token_file' and 'token_command' are two ways to log in"
        ),
        ("url: 'https://h', on_status: retry", "'on_status' must be an object"),
        (
            "url: 'https://h', on_status: {199: done}",
            "'199' is not a status from 200 to 599; write 409, 5xx or 500-504"
        ),
        ("url: 'https://h', on_status: {6xx: done}", "'6xx' is not a status from 200 to 599"),
        ("url: 'https://h', on_status: {504-500: done}", "'504-500' is not a status from 200 to 599"),
        ("url: 'https://h', on_status: {409: ok}", "a status means done, retry or dead-letter; write one of them"),
        (
            "url: 'https://h', on_status: {400-410: done, 405-420: retry}",
            "'405-420' and '400-410' overlap, and neither contains the other; split one of them"
        ),
        ("url: 'https://h', response: {}", "'merge' is missing; say what to write into the document"),
        ("url: 'https://h', response: {merge: {_rev: a}}", "merge can't touch '_rev'"),
        ("url: 'https://h', headers: {X: {jq: $response}}", "$response"),
    ])
    func invalidWebhooksAreExplained(webhook: String, message: String) {
        let found = errors(rule(webhook))
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(message) == true, "\(found)")
        #expect(found.first?.hasPrefix("r.yaml:3:") == true)
        #expect(!found.joined().contains("secret@"))
    }

    @Test func loadingReadsNoSecretFiles() throws {
        let set = try ruleSet(
            rule(
                "url: 'https://h', secret_files: [no/such, /abs], ca_file: no.pem, certificate_file: c.pem, key_file: k.pem, "
                    + "user: amy, password_file: pw, headers: {X-Key: {file: key}}"), path: "rules/r.yaml")
        let access = try #require(set.webhookAccesses.first)
        #expect(access.secretFiles == ["rules/no/such", "/abs"])
        #expect(access.caFile == "rules/no.pem")
        #expect(access.headerFiles.map(\.path) == ["rules/key"])
        #expect(access.files.secrets.map(\.kind) == [.secret, .secret, .password, .header])
        #expect(set.actsOutside)
    }

    @Test func narrowestRangeOfStatusesDecides() async throws {
        let set = try ruleSet(
            rule("url: 'http://h', on_status: {4xx: dead-letter, 401: retry, 400-410: retry, 409: done, 5xx: done}"))
        let statuses = try #require(effects(try await set.decided(#"{"_id":"o"}"#)).first).statuses
        let verdicts = [200, 401, 405, 409, 411, 503].map { statuses.verdict(on: $0) }
        #expect(verdicts == [nil, .retry, .retry, .done, .deadLetter, .done])
    }

    @Test(
        arguments: [
            ("github", "X-Hub-Signature-256", .hex, .sha256, "sha256="),
            ("{header: X-Sig, encoding: base64, algorithm: sha512, prefix: 'v1 '}", "X-Sig", .base64, .sha512, "v1 "),
            ("{header: X-Sig}", "X-Sig", .hex, .sha256, ""),
        ]
            as [(
                String, String, WebhookSignatureForm.HeaderSignature.Encoding,
                WebhookSignatureForm.HeaderSignature.Algorithm, String
            )])
    func headerSignatureIsRead(
        text: String, header: String, encoding: WebhookSignatureForm.HeaderSignature.Encoding,
        algorithm: WebhookSignatureForm.HeaderSignature.Algorithm, prefix: String
    ) throws {
        let access = try #require(
            try ruleSet(rule("url: 'http://h', secret_files: s, signature: \(text)")).webhookAccesses.first)
        let expected = WebhookSignatureForm.HeaderSignature(
            header: header, encoding: encoding, algorithm: algorithm, prefix: prefix)
        #expect(access.signature == .header(expected))
        #expect(access.files.secrets.map(\.kind) == [.signingSecret])
    }

    @Test(arguments: [
        ("https://Example.ORG", "https://example.org", "/"), ("HTTP://h:8080?a=1", "http://h:8080", "/?a=1"),
        ("https://[2001:db8::1]:8443/a%20b", "https://[2001:db8::1]:8443", "/a%20b"),
    ])
    func addressHasAnOriginAndAPath(url: String, origin: String, path: String) throws {
        let address = try OutsideAddress(url)
        #expect(address.origin == origin)
        #expect(address.path == path)
    }

    @Test func renewedTokensAreRead() throws {
        func access(_ keys: String) throws -> WebhookAccess {
            try #require(try ruleSet(rule("url: 'http://h', \(keys)"), path: "rules/r.yaml").webhookAccesses.first)
        }
        let client = try access(
            "token_url: 'https://ID.example/t?x=1', client_id: c, client_secret_file: s, scope: a b, audience: 'https://api/', client_auth: body, "
                + "token_ca_file: ca.pem")
        #expect(
            client.tokens?.method
                == .clientCredentials(
                    url: "https://id.example/t?x=1", clientID: "c", secretFile: "rules/s", scope: "a b",
                    audience: "https://api/",
                    isInBody: true)
        )
        #expect(client.files.secrets == [SecretFile("rules/s", .clientSecret)])
        #expect(client.files.certificates.map(\.kind) == [.tokenAuthorities])
        let key = try access("api_key_file: k")
        #expect(key.tokens?.method == .apiKey(url: nil, keyFile: "rules/k"))
        #expect(key.files.secrets == [SecretFile("rules/k", .apiKey)])
        #expect(try access("token_command: get it").tokens?.method == .command(["get it"]))
        #expect(try access("token_command: [./get, it]").tokens?.method == .command(["rules/./get", "it"]))
        #expect(try access("token_command: [get]").tokens?.method == .command(["get"]))
        #expect(try access("token_file: t").tokens == nil)
    }

    @Test func mappingWithAWebhookIsRefused() {
        let found = errors(
            "version: 1\nkind: mapping\nrules:\n- {name: a, when: {}, then: [{webhook: {url: 'http://h'}}]}\n")
        #expect(found.count == 1)
        #expect(found.first?.contains("a mapping can't send webhooks") == true)
    }

    // MARK: - What is sent

    @Test func previewContainsNoSecrets() async throws {
        let shown = try await shown(
            "url: 'https://h/a?b=1', secret_files: [s], token_file: t, headers: {X-Shop: berlin, X-Key: {file: k}}",
            #"{"_id":"o1","n":1.0}"#)
        #expect(
            shown
                == #"[{"rule":"a","action":"webhook","method":"POST","url":"https://h/a?b=1","headers":{"Content-Type":"application/cloudevents+json","X-Shop":"berlin"},"body":{"specversion":"1.0","type":"changebot.document.changed","subject":"o1","datacontenttype":"application/json","data":{"_id":"o1","n":1.0}}}]"#
        )
    }

    @Test(arguments: [
        ("body: document", #"{"Content-Type":"application/json"},"body":{"_id":"o1","n":1.0}"#),
        ("body: none, method: DELETE", #"{},"body":null"#),
        ("body: {text: {jq: .n}, b: [1]}", #"{"Content-Type":"application/json"},"body":{"text":1,"b":[1]}"#),
        ("body: {jq: '[.n]'}", #"{"Content-Type":"application/json"},"body":[1]"#),
        (
            "body: {jq: '\"n=\\(.n)\"'}, headers: {content-type: application/x-www-form-urlencoded}",
            #"{"content-type":"application/x-www-form-urlencoded"},"body":"n=1""#
        ),
        (
            "body: document, headers: {Content-Type: a/x+json}",
            #"{"Content-Type":"a/x+json"},"body":{"_id":"o1","n":1.0}"#
        ),
        ("body: none, headers: {X: {jq: .none}, Y: {jq: ._id}}", #"{"Y":"o1"},"body":null"#),
    ])
    func bodyKinds(webhook: String, expected: String) async throws {
        let shown = try await shown("url: 'http://h', \(webhook)", #"{"_id":"o1","n":1.0}"#)
        #expect(shown.contains(#""headers":\#(expected)"#), "\(shown)")
    }

    @Test(arguments: ["body: {jq: empty}", "body: {jq: 'null'}", "path: {jq: empty}", "event: {type: {jq: empty}}"])
    func programWithoutOutputSendsNothing(webhook: String) async throws {
        #expect(try await shown("url: 'http://h', \(webhook)", #"{"_id":"o1"}"#) == "[]")
    }

    @Test(arguments: [
        (#"/orders/\(._id | @uri)?all"#, #"a/b c"#, "http://h:1/orders/a%2Fb%20c?all"),
        (
            #"/orders/\(._id)"#, "a b",
            "webhook: the path can't contain the character ' '; encode values from the document with @uri"
        ),
        (#"\(._id)"#, "@evil.example/", "webhook: the path must begin with '/'; it is '@evil.example/'"),
        (
            #"/orders/\(._id)"#, "../admin",
            "webhook: the path can't contain the segments '.' and '..', which lead to other paths"
        ),
        (
            #"/orders/\(._id)"#, "%2E%2e",
            "webhook: the path can't contain the segments '.' and '..', which lead to other paths"
        ),
        (
            #"/orders/\(._id)"#, "a#b",
            "webhook: the path can't contain the character '#'; encode values from the document with @uri"
        ),
    ])
    func documentMayChooseThePathButNotTheReceiver(path: String, id: String, expected: String) async throws {
        let set = try ruleSet(rule(#"url: 'http://H:1/x', path: {jq: '"\#(path)"'}, body: none"#))
        var writer = JSONWriter()
        writer.object { $0.member("_id", string: id) }
        let decision = try await set.decided(String(decoding: writer.bytes, as: UTF8.self))
        #expect((decision.error?.reason ?? effects(decision).first?.url) == expected)
    }

    @Test(arguments: [
        ("headers: {X: {jq: .v}}", "the header 'X' would contain line breaks or control characters"),
        (
            "headers: {X: {jq: .n}}",
            "the header 'X' must be text and not empty; the program gives 1; add | tostring to the program"
        ),
        ("body: {jq: '1, 2'}", "the body: the program gives 2 values, not one"),
        (
            "body: {jq: .n}, headers: {Content-Type: text/plain}",
            "the body must be text, because Content-Type is not JSON; it is 1"
        ),
    ])
    func unsendableRequestIsADeadLetter(webhook: String, reason: String) async throws {
        let set = try ruleSet(rule("url: 'http://h', \(webhook)"))
        let decision = try await set.decided(#"{"_id":"o","v":"a\r\nEvil: b","n":1}"#)
        #expect(decision.error?.reason == reason)
    }

    @Test func ruleThatFiresAgainReplacesItsRequest() async throws {
        let set = try ruleSet(
            lines: "name: a, when: {}, then: [{webhook: {url: 'http://h', body: document}}]",
            "name: b, when: {n: {$exists: false}}, then: [{merge: {n: 1}}]")
        let decision = try await set.decided(#"{"_id":"o"}"#)
        let bodies = effects(decision).map {
            String(decoding: $0.body.content(nil, setsType: false).bytes ?? [], as: UTF8.self)
        }
        #expect(bodies == [#"{"_id":"o","n":1}"#])
    }

    @Test func eachElementSendsARequest() async throws {
        let set = try ruleSet(
            lines:
                "name: a, when: {}, then: [{for_each: '.lines[]', webhook: {url: 'http://h', body: {jq: '[$item, $index]'}}}]"
        )
        let decision = try await set.decided(#"{"_id":"o","lines":["x","y"]}"#)
        #expect(decision.outside.map(\.origin.element) == [0, 1])
        let bodies = effects(decision).map {
            String(decoding: $0.body.content(nil, setsType: false).bytes ?? [], as: UTF8.self)
        }
        #expect(bodies == [#"["x",0]"#, #"["y",1]"#])
    }

    // MARK: - The answer

    private func answered(_ response: String, _ document: String, _ answer: String, rule more: String = "when: {}")
        async throws -> Decision
    {
        let set = try ruleSet(rule("url: 'http://h', response: {merge: \(response)}", more))
        let decision = try await set.decided(document)
        let outside = try #require(decision.outside.first)
        let effect = try #require(effects(decision).first)
        return await set.merge(
            try JSONText(answer), of: effect, outside.origin, into: decision, of: DecisionInput(try JSONText(document)),
            now: 7)
    }

    @Test func answerIsMerged() async throws {
        let decision = try await answered(
            "{id: {jq: $response.body.id}, at: {jq: $now}, kept: {jq: .n}, none: {jq: empty}}",
            #"{"_id":"o","n":1.10}"#,
            #"{"status":201,"headers":{},"body":{"id":"p1"}}"#)
        #expect(decision.document.string == #"{"_id":"o","n":1.10,"id":"p1","at":7,"kept":1.1}"#)
        #expect(decision.isChanged)
        #expect(decision.answered == [0])
    }

    @Test func answerWithoutChangeCausesNoWrite() async throws {
        let decision = try await answered("{id: {jq: $response.body}}", #"{"_id":"o","id":"p1"}"#, #"{"body":"p1"}"#)
        #expect(!decision.isChanged)
        #expect(decision.answered.isEmpty)
    }

    @Test(arguments: [
        ("{id: {jq: 'error(\"no\")'}}", "webhook: response: the program fails: no"),
        ("{jq: '{_rev: 1}'}", "webhook: response: merge can't touch '_rev'; remove it from the result with del(._rev)"),
        ("{jq: '[1]'}", "webhook: response: merge takes an object; the program gives [1]"),
        (
            "{id: {jq: $response.body, type: string}}",
            "webhook: response: 'id' must be text; the program gives 1; add | tostring to the program"
        ),
    ])
    func unmergeableAnswerIsADeadLetter(response: String, reason: String) async throws {
        let decision = try await answered(response, #"{"_id":"o"}"#, #"{"body":1}"#)
        #expect(decision.error == DecisionError(rule: "a", reason: reason))
    }

    @Test func responseProgramsSeeTheElement() async throws {
        let set = try ruleSet(
            lines:
                "name: a, when: {}, then: [{for_each: '.lines[]', webhook: {url: 'http://h', response: {merge: {x: {jq: '[$item, $index, $response.body]'}}}}}]"
        )
        let document = #"{"_id":"o","lines":["l"]}"#
        let decision = try await set.decided(document)
        let merged = await set.merge(
            try JSONText(#"{"body":true}"#), of: try #require(effects(decision).first),
            try #require(decision.outside.first?.origin), into: decision, of: DecisionInput(try JSONText(document)),
            now: 0)
        #expect(merged.document.root["x"].map { String(decoding: $0.bytes, as: UTF8.self) } == #"["l",0,true]"#)
    }

    @Test func answerIsNotMergedIntoATombstone() async throws {
        let set = try ruleSet(
            rule("url: 'http://h', response: {merge: {id: 1}}", "on: [change, delete], when: {}"))
        let document = try JSONText(#"{"_id":"o","_rev":"2-a","_deleted":true}"#)
        let decision = try await set.decided(#"{"_id":"o","_rev":"2-a","_deleted":true}"#, isDeleted: true)
        let merged = await set.merge(
            try JSONText("{}"), of: try #require(effects(decision).first),
            try #require(decision.outside.first?.origin), into: decision,
            of: DecisionInput(document, isDeleted: true), now: 0)
        #expect(!merged.isChanged)
    }
}
