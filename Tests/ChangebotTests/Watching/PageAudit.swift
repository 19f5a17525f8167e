import LosslessJSON
import Testing

// Checks that any page must pass: the rules of WCAG 2.2 that a program can check.
extension Browser {
    /// The violations on the current page.
    func audit() async throws -> [String] {
        try await value("(() => { \(Self.audit) })()").elements.compactMap(\.string)
    }

    private static let audit = #"""
        const wrong = [];
        const short = (element) => element.outerHTML.slice(0, 120);
        const all = (selector) => [...document.querySelectorAll(selector)];
        for (const landmark of ["header", "main", "footer", "h1", "title"]) {
          if (all(landmark).length !== 1) wrong.push("not exactly one " + landmark);
        }
        if (!document.documentElement.lang) wrong.push("no language");
        let level = 0;
        for (const heading of all("h1,h2,h3,h4,h5,h6")) {
          const next = Number(heading.tagName[1]);
          if (next > level + 1) wrong.push("a heading leaves out a level: " + short(heading));
          if (!heading.textContent.trim()) wrong.push("an empty heading");
          level = next;
        }
        const names = new Set();
        for (const region of all("article[aria-label], section[aria-label], [role=region]")) {
          const name = region.tagName + region.getAttribute("aria-label");
          if (!region.getAttribute("aria-label") || names.has(name)) wrong.push("a region without a name of its own: " + short(region));
          names.add(name);
        }
        // The editor's library has hidden scroll bars. Its text scrolls with the cursor.
        const isOfLibrary = (element) => element.closest(".CodeMirror") !== null;
        for (const element of all("button, a, [tabindex], [role=img]")) {
          if (isOfLibrary(element)) continue;
          if (!(element.getAttribute("aria-label") || element.textContent).trim()) wrong.push("no name: " + short(element));
        }
        for (const field of all("input, select, textarea")) {
          if (!isOfLibrary(field) && !field.labels.length && !field.getAttribute("aria-label")) wrong.push("no label: " + short(field));
        }
        for (const cell of all("th")) if (!cell.scope) wrong.push("a heading of nothing: " + short(cell));
        if (document.documentElement.scrollWidth > innerWidth) {
          wrong.push(`${document.documentElement.scrollWidth} pixels in a window of ${innerWidth}`);
        }
        // Users who can't scroll with a mouse must be able to focus it.
        for (const element of all("main *")) {
          if (isOfLibrary(element)) continue;
          const style = getComputedStyle(element);
          const scrolls = element.scrollHeight > element.clientHeight + 1 && ["auto", "scroll"].includes(style.overflowY);
          if (scrolls && element.tabIndex < 0) wrong.push("scrolls only by mouse: " + short(element));
          if (element.scrollWidth > element.clientWidth + 1 && style.display !== "inline" && element.clientWidth > 1) {
            wrong.push("wider than its place: " + short(element));
          }
        }
        // Labels next to each other must not read as one.
        const boxes = all("dt, thead th").map((element) => {
          const range = document.createRange();
          range.selectNodeContents(element);
          return [element, range.getBoundingClientRect()];
        });
        for (const [left, first] of boxes) {
          const near = boxes.find(([, second]) =>
            second.left > first.left && second.left < first.right + 16 && second.top < first.bottom && first.top < second.bottom);
          if (near) wrong.push("labels nearly touch: " + left.textContent + ", " + near[0].textContent);
        }
        const color = (text) => text.match(/[\d.]+/g).map(Number);
        const light = ([red, green, blue]) => {
          const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
          return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
        };
        const background = (element) => {
          for (let at = element; at; at = at.parentElement) {
            const found = color(getComputedStyle(at).backgroundColor);
            if (found.length === 3 || found[3] > 0) return found;
          }
          return [255, 255, 255];
        };
        const poor = new Set();
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
          const element = texts.currentNode.parentElement;
          if (!texts.currentNode.data.trim() || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
          const [first, second] = [light(color(getComputedStyle(element).color)), light(background(element))];
          const contrast = (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05);
          if (contrast < 4.5) poor.add(`contrast ${contrast.toFixed(2)}: ${element.tagName}.${element.className}`);
        }
        return [...wrong.slice(0, 20), ...poor];
        """#

    /// Audits the page in small and large windows, light and dark, and saves screenshots.
    func expectGoodLayout(_ name: String) async throws {
        for (width, isDark) in [(360, false), (800, false), (1440, false), (360, true), (1440, true)] {
            try await show(width: width, isDark: isDark)
            let wrong = try await audit()
            #expect(wrong == [], "\(name) at \(width), \(isDark ? "dark" : "light")")
            try await keepPicture("\(name)-\(width)-\(isDark ? "dark" : "light")")
        }
    }
}
