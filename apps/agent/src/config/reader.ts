import type { Check } from './values.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Every variable the agent knows; another name in the environment file is probably a slip of the pen. */
export const variableNames = [
  'STATION_ID',
  'UPDATE_SERVER_URL',
  'COMPOSE_PROJECT_PATH',
  'COMPOSE_FILE',
  'CHECK_INTERVAL_MINUTES',
  'AUTO_UPDATE',
  'BOOTSTRAP_ON_START',
  'HEALTHCHECK_URL',
  'HEALTHCHECK_TIMEOUT_SECONDS',
  'STABILIZATION_SECONDS',
  'CONTAINER_USERNAME',
  'CONTAINER_TOKEN',
  'CONTAINER_REGISTRY',
  'BACKEND_CONTAINER_NAME',
  'FRONTEND_CONTAINER_NAME',
  'REVERSE_PROXY_SERVICE',
  'KEEP_RELEASES',
  'MAINTENANCE_WINDOW',
  'UPDATE_PUBLIC_KEY',
  'STACK_ENGINE',
  'STACK_PROCESS_DIR',
  'DOCKER_HOST',
  'DOCKER_PROGRAM',
  'FIRMWARE_MANIFEST_URL',
  'FIRMWARE_CACHE_DIR',
  'FIRMWARE_FOLDER',
  'FIRMWARE_CHECK_INTERVAL_MINUTES',
  'FIRMWARE_MAX_BYTES',
  'BACKEND_URL',
  'BACKEND_AGENT_TOKEN',
  'PORT',
  'HOST',
  'AGENT_TOKEN',
  'AGENT_SOCKET',
  'DATA_DIR',
  'WIFI_WATCHDOG',
  'WIFI_INTERFACE',
  'WIFI_COUNTRY',
  'CONNECTIVITY_CHECK_URL',
  'STATION_URL',
  'HOTSPOT_SSID',
  'HOTSPOT_PASSWORD',
  'HOTSPOT_ADDRESS',
  'PORTAL_PORT',
  'LOG_LEVEL',
] as const;
export type VariableName = (typeof variableNames)[number];

/** Set by the service manager or the shell, not by the operator (systemd.exec(5), sd_notify(3)). */
export type AmbientName =
  'RUNTIME_DIRECTORY' | 'NOTIFY_SOCKET' | 'WATCHDOG_USEC' | 'WATCHDOG_PID' | 'PATH' | 'DOCKER_CONFIG';

export type Reader = {
  readonly problems: string[];
  /** The variable as it is set; null when it is not, or is empty. */
  text(variable: VariableName): string | null;
  ambient(variable: AmbientName): string | null;
  /** The checked value, or the default when it is unset (or wrong, which is then a problem). */
  or<T, D>(variable: VariableName, checkValue: Check<T>, otherwise: D): T | D;
  /** Unset is a problem too. The placeholder never reaches anybody: with a problem there is no configuration. */
  required<T>(variable: VariableName, checkValue: Check<T>, placeholder: T): T;
};

export function createReader(env: Environment): Reader {
  const problems: string[] = [];
  const read = (variable: string): string | null => {
    const value = env[variable]?.trim() ?? '';
    return value === '' ? null : value;
  };
  const or = <T, D>(variable: VariableName, checkValue: Check<T>, otherwise: D): T | D => {
    const value = read(variable);
    if (value === null) return otherwise;
    const checked = checkValue(value);
    if (checked.ok) return checked.value;
    problems.push(`${variable} must ${checked.must}`);
    return otherwise;
  };
  return {
    problems,
    text: read,
    ambient: read,
    or,
    required: (variable, checkValue, placeholder) => {
      if (read(variable) === null) problems.push(`${variable} must be set`);
      return or(variable, checkValue, placeholder);
    },
  };
}
