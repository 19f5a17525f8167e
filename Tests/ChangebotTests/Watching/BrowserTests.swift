import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// The page at `/` of a real bot, as a browser shows it.
@Suite(.serialized, .enabled(if: Browser.driver.isWanted), .sharedBrowser, .limitedParallelism(minutes: 10))
struct BrowserTests {
    private static let stamp = """
        - name: stamp
          when: { type: task, done: { $exists: false } }
          then: [{ merge: { done: true } }]
        """

    /// Each document becomes a dead letter with its `text` as the reason.
    private static let failing = """
        - name: failing
          when: { type: bad }
          then: [{ merge: { x: { jq: .text | error } } }]
        """

    private static let state = "document.querySelector('h2 .state')?.textContent"

    private static func tile(_ name: String) -> String {
        "[...document.querySelectorAll('dt')].find((e) => e.textContent === '\(name)').nextSibling.textContent"
    }

    private static func card(_ title: String) -> String {
        "[...document.querySelectorAll('h3')].find((e) => e.textContent === '\(title)').parentElement"
    }

    /// Calls `body` with a browser that shows the page of a bot that has caught up.
    private func whileOpen(
        _ documents: [String] = [], rules: String = stamp, _ more: [String] = [],
        _ body: (CommandTestBed, WatchedBot, Browser) async throws -> Void
    ) async throws {
        try await CommandTestBed.with(documents, rules: rules) { bed in
            let bot = try await bed.watchedBot(more)
            try await Browser.with { browser in
                try await browser.open(bot.page)
                try await browser.wait(until: "\(Self.state) === 'up to date'")
                try await body(bed, bot, browser)
                #expect(try await browser.complaints() == [])
            }
            #expect(await bot.process.stop() == 0)
        }
    }

    @Test func pageShowsTheBotAndItsCountersMove() async throws {
        try await whileOpen([#"{"_id":"a","type":"task"}"#]) { bed, _, browser in
            #expect(try await browser.text("document.title") == "changebot – changebot")
            #expect(try await browser.text("document.querySelector('h2').textContent").contains(bed.url))
            try await browser.wait(until: "\(Self.tile("written")) === '1'")
            #expect(try await browser.text("document.getElementById('link').textContent") == "live")
            _ = try await browser.value("window.isSame = true")
            try await bed.put([#"{"_id":"b","type":"task"}"#])
            try await browser.wait(until: "\(Self.tile("written")) === '2'")
            try await browser.wait(until: "\(Self.card("Last effects")).querySelector('code').textContent === 'b'")
            #expect(try await browser.value("window.isSame").bool == true)
            try await browser.expectGoodLayout("up-to-date")
        }
    }

    @Test func outageIsShownUntilItEnds() async throws {
        try await Program.withDirectory { folder in
            func gateway(_ listen: String) async throws -> (process: ChildProcess, url: String) {
                let process = try ChildProcess([
                    Program.path, "gateway", "--listen", listen, "--data", folder + "/todo.sqlite",
                ])
                return (process, try #require(await process.readLine()?.split(separator: " ").last.map(String.init)))
            }
            let first = try await gateway("127.0.0.1:0")
            let bed = CommandTestBed(url: first.url, folder: folder)
            try bed.write(rules: Self.stamp)
            let bot = try await bed.watchedBot()
            try await Browser.with { browser in
                try await browser.open(bot.page)
                try await browser.wait(until: "\(Self.state) === 'up to date'")
                first.process.kill()
                let trouble = "document.querySelector('section[aria-label^=Problem]')"
                try await browser.wait(until: "\(trouble).textContent.includes('the next attempt is in')")
                #expect(try await browser.text(Self.state) == "gateway unreachable")
                #expect(try await browser.text("document.title").hasPrefix("✗ "))
                #expect(try await browser.text("document.getElementById('spoken').textContent").contains("reach"))
                try await browser.expectGoodLayout("outage")
                let second = try await gateway(String(try #require(URL(string: first.url)?.authority)))
                try await browser.wait(until: "\(trouble) === null")
                try await browser.wait(until: "\(Self.state) === 'up to date'")
                #expect(try await browser.complaints() == [])
                second.process.kill()
            }
            bot.process.kill()
        }
    }

    @Test(arguments: [0, 3, 3000]) func deadLettersAreListedWithReasonAndCommand(_ count: Int) async throws {
        try await whileOpen(rules: Self.failing) { bed, _, browser in
            if count > 0 {
                let documents = (1...count).map { #"{"_id":"bad-\#($0)","type":"bad","text":"broken \#($0)"}"# }
                try await bed.bulkPut(documents)
            }
            let card = Self.card("Dead letters")
            let shown = "\(card).querySelectorAll('li')"
            let open = count == 3000 ? "3,000" : "\(count)"
            try await browser.wait(until: "\(Self.tile("dead letters")) === '\(open)'")
            try await browser.wait(until: "\(Self.state) === 'up to date'")
            #expect(try await browser.text("\(shown).length") == "\(min(count, 20))")
            let text = try await browser.text("\(card).textContent")
            #expect(text.contains("None.") == (count == 0))
            #expect(text.contains("and 2,980 more") == (count == 3000))
            #expect(text.contains("changebot dead-letters list") == (count == 3000))
            if count > 0 {
                let letter = try await browser.text("\(shown)[0].textContent")
                #expect(letter.contains("bad-"))
                #expect(letter.contains("broken "))
                #expect(letter.contains("changebot dead-letters retry "))
            }
            try await browser.expectGoodLayout("dead-letters-\(count)")
        }
    }

    @Test func eachBotHasItsSection() async throws {
        try await CommandTestBed.with(rules: Self.stamp) { bed in
            let file = bed.folder + "/changebot.yaml"
            try """
            version: 1
            state: \(bed.state)
            bots:
              - { name: first, gateway: "\(bed.url)", rules: r.yaml }
              - { name: second, gateway: "\(bed.url)", rules: r.yaml }
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let bot = try await WatchedBot.start(["--config", file])
            try await Browser.with { browser in
                try await browser.open(bot.page)
                try await browser.wait(until: "document.querySelectorAll('.state.good').length === 3")
                let titles =
                    "[...document.querySelectorAll('article h2')].map((e) => e.firstChild.data.trim()).sort().join()"
                #expect(try await browser.text(titles) == "first,second")
                #expect(try await browser.complaints() == [])
                try await browser.expectGoodLayout("two-bots")
            }
            #expect(await bot.process.stop() == 0)
        }
    }

    @Test func failedReloadIsShownUntilOneSucceeds() async throws {
        try await whileOpen { bed, bot, browser in
            try bed.write(rules: "- name: [broken")
            bot.process.signal(SIGHUP)
            let notice = "document.querySelector('section[aria-label=\"Rules and configuration\"]')"
            try await browser.wait(until: "\(notice).textContent.includes('the old ones stay in force')")
            try await browser.expectGoodLayout("failed-reload")
            try bed.write(rules: Self.stamp)
            bot.process.signal(SIGHUP)
            try await browser.wait(until: "\(notice) === null")
            let version = "document.getElementById('version').textContent"
            try await browser.wait(until: "\(version).includes('reloaded at')")
        }
    }

    /// All controls can be reached by Tab, in the order in which they are shown.
    @Test func pageIsUsableByKeyboard() async throws {
        try await whileOpen([#"{"_id":"a","type":"bad","text":"broken"}"#], rules: Self.failing + "\n" + Self.stamp) {
            bed, _, browser in
            try await browser.wait(until: "document.querySelector('li button') !== null")
            let usable = "[...document.querySelectorAll('a[href], button, [tabindex=\"0\"]')]"
            let count = try #require(try await browser.value("\(usable).length").integer)
            for index in 0..<count {
                try await browser.press("\u{E004}")
                #expect(try await browser.text("\(usable).indexOf(document.activeElement)") == "\(index)")
                let outline = "getComputedStyle(document.activeElement).outlineStyle"
                #expect(try await browser.text(outline) != "none")
            }
        }
    }

    @Test func focusSelectionAndScrollPositionSurviveAnUpdate() async throws {
        let documents = (1...30).map { #"{"_id":"bad-\#($0)","type":"bad","text":"broken \#($0)"}"# }
        try await whileOpen(documents, rules: Self.failing + "\n" + Self.stamp) { bed, _, browser in
            try await browser.wait(until: "document.querySelectorAll('li button').length === 20")
            _ = try await browser.value(
                """
                (() => {
                  const button = document.querySelectorAll('li button')[4];
                  window.kept = { button, command: button.previousSibling.textContent };
                  button.focus();
                  getSelection().selectAllChildren(button.previousSibling);
                  const list = button.closest('.scroll');
                  window.kept.top = list.scrollTop = list.scrollHeight / 2;
                  return true;
                })()
                """)
            try await bed.put([
                #"{"_id":"new","type":"bad","text":"new"}"#, #"{"_id":"t","type":"task"}"#,
            ])
            try await browser.wait(until: "document.querySelector('li code').textContent === 'new'")
            #expect(try await browser.value("document.activeElement === kept.button").bool == true)
            #expect(try await browser.value("getSelection().toString() === kept.command").bool == true)
            #expect(try await browser.value("kept.button.previousSibling.textContent === kept.command").bool == true)
            #expect(try await browser.value("kept.button.closest('.scroll').scrollTop > 0").bool == true)
            try await browser.press("\u{E007}")
            try await browser.wait(until: "/The command is (copied|selected)/.test(spoken.textContent)")
        }
    }

    /// The first contains a script, an element that runs one, the end of an attribute, and a change of the writing
    /// direction.
    static let hostile = [
        "<script>window.isRun=1</script>", "<img src=x onerror=window.isRun=1>", "\"' onfocus=window.isRun=1 x='",
        "\u{202E}txet desrever\u{202C}", "</code></li></ul><h1>mine</h1>", "&lt;b&gt;{{7*7}}${7*7}",
        "javascript:window.isRun=1", String(repeating: "w", count: 240),
    ]

    @Test func hostileDocumentsAreShownAsText() async throws {
        let rules = """
            - name: failing
              when: { bad: true }
              then: [{ merge: { x: { jq: .text | error } } }]
            - name: "<script>window.isRun=1</script>"
              when: { type: task, shout: { $exists: false } }
              then: [{ merge: { shout: { jq: .text } } }]
            """
        try await whileOpen(rules: rules, ["--http-shows-documents"]) { bed, _, browser in
            let documents = Self.hostile.enumerated().flatMap { number, text in
                let text = text.jsonString
                let long = String(repeating: String(text.dropFirst().dropLast()) + " ", count: 30)
                return [
                    #"{"_id":\#("\(number)".jsonString.dropLast() + text.dropFirst()),"type":"task","text":\#(text)}"#,
                    #"{"_id":\#("x\(number)".jsonString.dropLast() + text.dropFirst()),"bad":true,"text":"\#(long)"}"#,
                ]
            }
            try await bed.bulkPut(documents)
            try await browser.wait(until: "document.querySelectorAll('li').length === \(documents.count)")
            for text in Self.hostile {
                let page = "document.getElementById('bots').textContent.includes(\(text.jsonString))"
                #expect(try await browser.value(page).bool == true, "\(text)")
            }
            let forbiddenCount = "document.querySelectorAll('#bots script, #bots img, #bots h1').length"
            #expect(try await browser.text(forbiddenCount) == "0")
            try await browser.expectGoodLayout("hostile")
            #expect(try await browser.value("window.isRun === undefined").bool == true)
        }
    }
}

extension CommandTestBed {
    /// Writes new documents in one request.
    func bulkPut(_ documents: [String]) async throws {
        try await withGateway { gateway in
            let outcomes = try await gateway.bulkDocs(
                try documents.map { text in
                    let id = DocumentID(try #require(try JSONText(text).root["_id"]?.string))
                    return BulkDocument(id: id, segments: [Array(text.utf8)])
                })
            let refused = outcomes.filter { if case .written = $0 { false } else { true } }
            #expect(refused.isEmpty, "\(refused)")
        }
    }
}

extension URL {
    /// `HOST:PORT`.
    fileprivate var authority: String? { host.flatMap { host in port.map { "\(host):\($0)" } } }
}
