import type { StationMigration } from '../migrate.ts';
import { people } from './0001-people.ts';
import { devices } from './0002-devices.ts';
import { history } from './0003-history.ts';
import { automations } from './0004-automations.ts';
import { firmware } from './0006-firmware.ts';
import { cloud } from './0007-cloud.ts';
import { replicas } from './0012-replicas.ts';
import { samples } from './0013-samples.ts';
import { homeAccounts } from './0014-home-accounts.ts';
import { greetings } from './0015-greetings.ts';
import { removedLogins } from './0016-removed-logins.ts';
import { homeRoles } from './0017-home-roles.ts';
import { commandLives } from './0018-command-lives.ts';
import { firmwarePaths } from './0019-firmware-paths.ts';
import { deviceTypes } from './0020-device-types.ts';
import { neverHarm } from './0021-never-harm.ts';
import { oddInput } from './0022-odd-input.ts';
import { wifiChanges } from './0023-wifi-changes.ts';
import { firmwareModes } from './0024-firmware-modes.ts';
import { provisionings } from './0025-provisionings.ts';
import { clock } from './0026-clock.ts';
import { transitions } from './0027-transitions.ts';
import { deviceStorage } from './0028-device-storage.ts';
import { backupFiles } from './0029-backup-files.ts';
import { hourParts } from './0030-hour-parts.ts';
import { sessionClients } from './0031-session-clients.ts';
import { closedAccounts } from './0032-closed-accounts.ts';
import { firmwareApproval } from './0046-firmware-approval.ts';
import { loginDevices } from './0045-login-devices.ts';
import { replacedHashes } from './0047-replaced-hashes.ts';
import { loginLimits } from './0033-login-limits.ts';
import { passkeys } from './0034-passkeys.ts';
import { home } from './0035-home.ts';
import { sunAndTraces } from './0036-sun-and-traces.ts';
import { notifications } from './0037-notifications.ts';
import { memberLimits } from './0039-member-limits.ts';
import { activity } from './0041-activity.ts';
import { deviceDescriptions } from './0044-device-descriptions.ts';

/** Every migration, oldest first. Listed by hand, so that they are inside the one bundled file. Never change one that was released. */
export const migrations: readonly StationMigration[] = [
  people,
  devices,
  history,
  automations,
  firmware,
  cloud,
  replicas,
  samples,
  homeAccounts,
  greetings,
  removedLogins,
  homeRoles,
  commandLives,
  firmwarePaths,
  deviceTypes,
  neverHarm,
  oddInput,
  wifiChanges,
  firmwareModes,
  provisionings,
  clock,
  transitions,
  deviceStorage,
  backupFiles,
  hourParts,
  sessionClients,
  closedAccounts,
  loginLimits,
  passkeys,
  home,
  sunAndTraces,
  notifications,
  memberLimits,
  activity,
  deviceDescriptions,
  loginDevices,
  firmwareApproval,
  replacedHashes,
];
