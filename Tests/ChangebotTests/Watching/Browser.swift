import Foundation
import HTTPTransport
import LosslessJSON
import TestKit
import Testing

/// A headless Chromium, driven by chromedriver.
///
/// - Note: Source: W3C, "WebDriver"; the Chrome DevTools Protocol for the rest.
final class Browser: Sendable {
    static let driver = InstalledProgram("chromedriver", requiredBy: "CHANGEBOT_TEST_BROWSER")

    /// The error that chromedriver returned instead of a result.
    struct Failure: Error {
        let command: String
        let answer: String
    }

    private let client: HTTPClient
    /// The URL of the session.
    private let session: String

    private init(_ client: HTTPClient, session: String) {
        self.client = client
        self.session = session
    }

    /// The browser of the suite.
    @TaskLocal private static var shared: Browser?

    /// Calls `body` with the suite's browser, and empties it afterwards.
    static func with(_ body: (Browser) async throws -> Void) async throws {
        let browser = try #require(shared, "the suite lacks the trait .sharedBrowser")
        let result = await Result { try await body(browser) }
        try await browser.clear()
        try result.get()
    }

    private func clear() async throws {
        try await open("about:blank")
        try await devTools("Emulation.clearDeviceMetricsOverride", "{}")
        try await devTools("Emulation.setEmulatedMedia", #"{"features":[]}"#)
        // Console messages so far belong to the test that ends.
        _ = try await complaints()
    }

    /// Shares one browser between all tests of a suite, because its start takes longer than most tests.
    struct Sharing: SuiteTrait, TestScoping {
        func provideScope(
            for test: Test, testCase: Test.Case?, performing tests: @Sendable () async throws -> Void
        ) async throws {
            try await Browser.start { browser in try await Browser.$shared.withValue(browser) { try await tests() } }
        }
    }

    /// Calls `body` with a new browser and profile.
    private static func start(_ body: (Browser) async throws -> Void) async throws {
        let path = try #require(driver.path, "\(driver.variable) is set, but there is no chromedriver in PATH")
        try await Program.withDirectory { folder in
            let process = try ChildProcess([path, "--port=0"], errors: folder + "/driver-errors")
            defer { process.kill() }
            var port: Substring?
            while port == nil, let line = await process.readLine() {
                port = line.firstMatch(of: /successfully on port ([0-9]+)/)?.output.1
            }
            let client = HTTPClient()
            let result = await Result { try await with(client, try #require(port), profile: folder + "/profile", body) }
            await client.shutdown()
            try result.get()
        }
    }

    private static func with(
        _ client: HTTPClient, _ port: Substring, profile: String, _ body: (Browser) async throws -> Void
    ) async throws {
        let arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--user-data-dir=\(profile)",
        ].map(\.jsonString).joined(separator: ",")
        let address = "http://127.0.0.1:\(port)/session"
        let newSession = try await send(
            client, "POST", address,
            #"{"capabilities":{"alwaysMatch":{"browserName":"chrome","timeouts":{"script":60000},"#
                + #""goog:loggingPrefs":{"browser":"ALL"},"goog:chromeOptions":{"args":[\#(arguments)]}}}}"#)
        let id = try #require(newSession["sessionId"]?.string)
        let browser = Browser(client, session: "\(address)/\(id)")
        let result = await Result {
            // Collects violations of the page's content security policy, and uncaught errors.
            try await browser.devTools(
                "Page.addScriptToEvaluateOnNewDocument",
                #"{"source":\#(Self.watch.jsonString)}"#)
            try await body(browser)
        }
        _ = try? await send(client, "DELETE", browser.session, nil)
        try result.get()
    }

    private static let watch = """
        window.complaints = [];
        document.addEventListener("securitypolicyviolation", (event) =>
          complaints.push("policy: " + event.violatedDirective + " " + event.blockedURI));
        window.addEventListener("error", (event) => complaints.push("error: " + event.message));
        window.addEventListener("unhandledrejection", (event) => complaints.push("rejection: " + event.reason));
        """

    private static func send(
        _ client: HTTPClient, _ method: String, _ url: String, _ body: String?
    ) async throws -> JSONValue {
        let response = try await client.send(
            HTTPRequest(
                method: method, url: url, headers: [("Content-Type", "application/json")],
                body: body.map { .bytes(Array($0.utf8)) } ?? .none))
        let answer = try await response.body.collect(upTo: 64 << 20)
        guard response.status == 200, let value = try JSONText(Array(answer)).root["value"] else {
            throw Failure(command: body ?? url, answer: String(decoding: answer.prefix(2000), as: UTF8.self))
        }
        return value
    }

    @discardableResult
    private func command(_ path: String, _ body: String) async throws -> JSONValue {
        try await Self.send(client, "POST", "\(session)/\(path)", body)
    }

    /// Returns when the page is loaded.
    func open(_ url: String) async throws { try await command("url", #"{"url":\#(url.jsonString)}"#) }

    /// The value of a JavaScript expression in the page.
    func value(_ expression: String) async throws -> JSONValue {
        let script = "return (\(expression));"
        return try await command("execute/sync", #"{"script":\#(script.jsonString),"args":[]}"#)
    }

    func text(_ expression: String) async throws -> String {
        let value = try await value(expression)
        return value.string ?? String(decoding: value.bytes, as: UTF8.self)
    }

    /// Waits until an expression is true, for at most a minute.
    func wait(until expression: String) async throws {
        let script = """
            const done = arguments[0];
            const check = () => {
              let holds = false;
              try { holds = \(expression); } catch {}
              holds ? done(true) : setTimeout(check, 25);
            };
            check();
            """
        do {
            try await command("execute/async", #"{"script":\#(script.jsonString),"args":[]}"#)
        } catch let failure as Failure {
            throw Failure(
                command: expression, answer: "\(try await text("document.body.innerText"))\n\(failure.answer)")
        }
    }

    /// Presses and releases a key; `\u{E004}` is Tab.
    func press(_ key: String) async throws {
        let key = key.jsonString
        try await command(
            "actions",
            #"{"actions":[{"type":"key","id":"keys","actions":[{"type":"keyDown","value":\#(key)},"#
                + #"{"type":"keyUp","value":\#(key)}]}]}"#)
    }

    @discardableResult
    func devTools(_ name: String, _ parameters: String) async throws -> JSONValue {
        try await command("goog/cdp/execute", #"{"cmd":\#(name.jsonString),"params":\#(parameters)}"#)
    }

    /// Sets the size of the page's window, and the preferred colours.
    func show(width: Int, height: Int = 900, isDark: Bool = false) async throws {
        try await devTools(
            "Emulation.setDeviceMetricsOverride",
            #"{"width":\#(width),"height":\#(height),"deviceScaleFactor":1,"mobile":false}"#)
        let scheme = isDark ? "dark" : "light"
        try await devTools(
            "Emulation.setEmulatedMedia",
            #"{"features":[{"name":"prefers-color-scheme","value":"\#(scheme)"}]}"#)
    }

    /// Errors from the console and ``watch``; empty if there are none.
    func complaints() async throws -> [String] {
        let console = try await command("se/log", #"{"type":"browser"}"#)
        return console.elements.compactMap { $0["message"]?.string }
            + (try await value("complaints")).elements.compactMap(\.string)
    }

    /// Saves a screenshot of the whole page in the folder `CHANGEBOT_TEST_SCREENSHOTS`, if it is set.
    func keepPicture(_ name: String) async throws {
        guard let folder = ProcessInfo.processInfo.environment["CHANGEBOT_TEST_SCREENSHOTS"] else { return }
        let picture = try await devTools("Page.captureScreenshot", #"{"captureBeyondViewport":true}"#)
        let data = try #require(picture["data"]?.string.flatMap { Data(base64Encoded: $0) })
        try data.write(to: URL(fileURLWithPath: "\(folder)/\(name).png"))
    }
}

extension Trait where Self == Browser.Sharing {
    /// Lets the suite's tests share a browser. ``Browser/with(_:)`` gives it to one test at a time.
    static var sharedBrowser: Self { Self() }
}

extension String {
    /// As a JSON string, which is also a JavaScript string.
    var jsonString: String {
        var writer = JSONWriter()
        writer.string(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension Result where Failure == any Error {
    /// What `body` returns or throws.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
