import type { AgentFindingCode } from './agent-findings.ts';
import type { BackendFindingCode } from './backend-findings.ts';

type FindingCode = BackendFindingCode | AgentFindingCode;

/**
 * What follows from other findings, as `check: code`: while one of these causes is named, it is no fault of its own. A check whose cause is not
 * among them keeps its finding. Of two that name a service it must be the same one.
 */
export const consequences: Readonly<Record<string, readonly FindingCode[]>> = {
  'backend: backend_silent': ['engine_unreachable', 'compose_fails', 'service_not_running'],
  'broker: broker_unreachable': ['name_unresolved'],
  'data_folder: data_folder_not_writable': ['disk_full', 'disk_files_used_up', 'disk_read_only'],
  'database: database_unreachable': ['name_unresolved'],
  'encryption: certificate_expired': ['clock_wrong', 'unit_inactive'],
  'encryption: certificate_missing': ['unit_inactive'],
  'images: check_failed': ['engine_unreachable'],
  'public_certificate: public_certificate_ended': ['clock_wrong'],
  'public_certificate: public_certificate_ending': ['clock_wrong', 'name_unresolved'],
  'public_certificate: public_certificate_missing': ['engine_unreachable', 'compose_fails'],
  'release_server: release_server_silent': ['clock_wrong', 'name_unresolved'],
  'services: service_not_running': ['image_missing'],
  'web_server: backend_unhealthy': [
    'broker_refuses',
    'broker_unreachable',
    'data_folder_not_writable',
    'database_damaged',
    'database_unreachable',
    'disk_full',
    'disk_read_only',
  ],
};
