import Foundation
import Testing

@testable import Monitoring

/// The page Monitoring describes every metric; alerts and dashboard use only existing metrics.
@Suite struct MetricsDocumentationTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let page = "Sources/changebot/changebot.docc/Operations/Monitoring.md"
    private static let metrics = Set(MonitoredProcess.families.map(\.name))

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func everyMetricIsDescribed() throws {
        let rows = try Self.text(Self.page).split(separator: "\n").filter { $0.hasPrefix("| `changebot_") }
        let described = rows.map { $0.split(separator: "`")[1] }.map(String.init)
        #expect(described == MonitoredProcess.families.map(\.name))
    }

    @Test(arguments: [page, "assets/prometheus-alerts.yaml", "assets/grafana-dashboard.json"])
    func namedMetricsExist(path: String) throws {
        let names = try Self.text(path).matches(of: /changebot_\w+/).map { String($0.output) }
        #expect(names.count > 5)
        for name in names {
            let family = name.replacing(/_(?:bucket|sum|count)$/, with: "")
            #expect(Self.metrics.contains(family), "\(path): \(name)")
        }
    }

    @Test func everyAlertIsExplained() throws {
        let alerts = try Self.text("assets/prometheus-alerts.yaml").matches(of: /- alert: (\w+)/).map { $0.output.1 }
        let page = try Self.text(Self.page)
        #expect(alerts.count > 5)
        for alert in alerts { #expect(page.contains("| `\(alert)` |"), "\(alert)") }
    }

    @Test func dashboardIsJSON() throws {
        let dashboard = try JSONSerialization.jsonObject(with: Data(Self.text("assets/grafana-dashboard.json").utf8))
        let panels = (dashboard as? [String: Any])?["panels"] as? [Any]
        #expect((panels?.count ?? 0) > 10)
    }

    @Test(arguments: [
        "partitions_owned", "backlog_changes", "oldest_change_seconds", "parked_changes", "dead_changes",
        "takeovers_total", "lease_losses_total", "fenced_commits_total",
    ])
    func dashboardShowsFleets(metric: String) throws {
        #expect(try Self.text("assets/grafana-dashboard.json").contains("changebot_fleet_\(metric){bot=~"))
    }
}
