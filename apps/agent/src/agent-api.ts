import { createRedactor } from '@station/kit/logger';
import { shareRun } from '@station/kit/shared-run';
import type { Status } from '@station/protocol/agent-api';
import { formatKeyId } from '@station/protocol/signing-key';
import type { AgentBase, Features } from './agent-features.ts';
import { createAgentPart } from './backup/agent-part.ts';
import type { Config } from './config.ts';
import { kernelPaths } from './core/adapters/kernel-files.ts';
import type { AgentPort } from './core/agent-port.ts';
import type { OpenLog } from './core/operator-ports.ts';
import { agentUnit, environmentFile, examineStation } from './examine-station.ts';
import { readUnitLog } from './logs/adapters/unit-log.ts';
import { createOpenLog } from './logs/follow-log.ts';
import { readLinks, readMachine } from './machine/adapters/machine-facts.ts';
import { createMachinePower } from './machine/adapters/machine-power.ts';
import { createMachinePort, createNetworkPort } from './machine/machine-port.ts';
import { agentVersion } from './version.ts';

/**
 * What the agent's API can do, put together from the features. What starts programs, asks other servers or queues up runs once for all who
 * ask at the same time: a hijacked backend may ask without a pause, on hundreds of connections.
 */
export function createAgentApi(config: Config, features: Features, base: AgentBase): AgentPort {
  const { autoUpdate, stack, firmware, wifi, hostClock } = features;
  const part = createBackupPart(features);
  return {
    version: () => ({ ...stack.versions(), agentVersion }),
    wifiStatus: wifi.status,
    hotspot: () => ({ ssid: config.wifi.hotspot.ssid, password: config.wifi.hotspot.password }),
    readBackup: shareRun(part.read),
    restoreBackup: part.restore,
    doctor: shareRun(() => examineStation({ config, warnings: [], envFile: environmentFile(), clock: base.clock })),
    log: shareRun(() => readAgentLog(config)),
    openLog: createLogs(config, features, base),
    ...createMachineParts(config, features, base),
    clock: hostClock.status,
    setClock: hostClock.set,
    update: stack.update,
    rollback: stack.rollback,
    chooseAutoUpdate: async (choice) => {
      await autoUpdate.choose(choice);
      return { autoUpdate: autoUpdate.isOn() };
    },
    restartService: stack.restart,
    check: shareRun(async () => {
      const [answer, firmwareCheck] = await Promise.all([stack.check(), firmware.check()]);
      const { latestVersion } = stack.versions();
      return {
        release: { ok: answer.kind === 'ok', latestVersion, updateAvailable: stack.updateAvailable() },
        firmware: firmwareCheck,
      };
    }),
    status: async (): Promise<Status> => ({
      stationId: config.stationId,
      startedAt: base.startedAt,
      agentVersion,
      autoUpdate: features.autoUpdate.isOn(),
      ...(await stack.status()),
      firmware: firmware.status(),
      wifi: wifi.status(),
      clock: await hostClock.status(),
      ...describeEncryption(features),
      ...(await describeKeys(config, features)),
      conditions: base.conditions.list(),
    }),
  };
}

const createBackupPart = ({ autoUpdate, certificates, wifi, engine, stack }: Features) =>
  createAgentPart({
    autoUpdate,
    authority: certificates,
    networks: wifi.saved,
    broker: engine.broker ?? null,
    release: stack.installed,
    update: stack.update,
  });

const logTimeoutMs = 10_000;

const readAgentLog = (config: Config): Promise<string[]> =>
  readUnitLog(agentUnit, config.childEnv, AbortSignal.timeout(logTimeoutMs));

function createLogs(config: Config, { engine }: Features, { logger, clock }: AgentBase): OpenLog {
  return createOpenLog({
    operator: engine.operator ?? { followLog: async () => undefined },
    services: async () => (engine.operator ? (await engine.services()).running : []),
    agentLines: () => readAgentLog(config),
    redact: createRedactor(config.secrets),
    logger,
    clock,
  });
}

function createMachineParts(config: Config, { stack, wifi, mdnsName }: Features, { logger, clock }: AgentBase) {
  // Where Docker keeps its images and volumes unless somebody moved them.
  const folders = ['/', '/var/lib/docker', config.dataDir, config.stack.projectPath, config.firmware.cacheDir];
  return {
    ...createMachinePort({
      read: shareRun(() => readMachine(folders, kernelPaths, clock)),
      power: createMachinePower({ clock }),
      operation: stack.operation,
      logger,
      clock,
    }),
    ...createNetworkPort({
      stationUrl: config.wifi.stationUrl,
      wifiStatus: wifi.status,
      actions: wifi.network,
      mdnsName: mdnsName.read,
      links: () => readLinks(kernelPaths.sys),
    }),
  };
}

/** Nothing while the learned keys cannot be read. */
async function describeKeys(config: Config, { keys }: Features): Promise<Pick<Status, 'updateKeys'>> {
  if (keys === null) return {};
  const trusted = await keys.trusted().catch(() => null);
  if (trusted === null) return {};
  const configured = new Set(config.release.publicKeys.map(({ text }) => text));
  return {
    updateKeys: trusted.map(({ text, keyId }) => ({ id: formatKeyId(keyId), isLearned: !configured.has(text) })),
  };
}

function describeEncryption({ certificates }: Features): Pick<Status, 'encryption'> {
  const encryption = certificates.status();
  return encryption === null ? {} : { encryption };
}
