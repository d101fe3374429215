import { DiagnosticsCard } from '../features/settings/diagnostics-card.tsx';
import { DiagnosticsPage } from '../features/station/diagnostics-page.tsx';

/** How the station is, what it finds when it checks itself, and its logs. */
export function DiagnosticsPlace() {
  return <DiagnosticsPage checks={(usable) => <DiagnosticsCard usable={usable} />} />;
}
