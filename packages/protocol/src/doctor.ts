import { Type, type Static } from 'typebox';
import { Time } from './rest.ts';

/** Report of `doctor`: what the backend and the agent find when they check the station. Texts are in `*-findings.ts`. */

/** The worst first. `unknown`: the check could not be done. */
const doctorStatuses = ['fault', 'warning', 'unknown', 'ok'] as const;
export type DoctorStatus = (typeof doctorStatuses)[number];
const DoctorStatusName = Type.Enum([...doctorStatuses]);

const DoctorFinding = Type.Object({
  code: Type.String({ description: 'From the catalogue; a client shows the message of a code that it does not know.' }),
  status: DoctorStatusName,
  message: Type.String({ description: 'In English: what is wrong.' }),
  help: Type.String({ description: 'In English: what helps.' }),
  values: Type.Record(Type.String(), Type.String(), { description: 'What the message names: files, hosts, reasons.' }),
});
type DoctorFinding = Static<typeof DoctorFinding>;

export const DoctorCheck = Type.Object({
  id: Type.String(),
  title: Type.String({ description: 'In English.' }),
  status: DoctorStatusName,
  detail: Type.Union([Type.String(), Type.Null()], { description: 'What was looked at, without words to translate.' }),
  findings: Type.Array(DoctorFinding),
});
export type DoctorCheck = Static<typeof DoctorCheck>;

/** GET /doctor of the agent, and `doctor --json` of the backend. */
export const DoctorReport = Type.Object({
  program: Type.Enum(['backend', 'agent']),
  version: Type.String(),
  at: Time,
  status: DoctorStatusName,
  checks: Type.Array(DoctorCheck),
});
export type DoctorReport = Static<typeof DoctorReport>;

/** Why there is no report of the agent. `outdated`: an older agent without `GET /doctor`. */
const agentGaps = ['not_configured', 'unreachable', 'outdated'] as const;

export const SystemDoctor = Type.Object({
  backend: DoctorReport,
  agent: Type.Union([DoctorReport, Type.Null()]),
  agentMissing: Type.Union([Type.Enum([...agentGaps]), Type.Null()]),
});
export type SystemDoctor = Static<typeof SystemDoctor>;

/** GET /log of the agent: its last log events, oldest first, as lines of JSON without secrets. */
export const AgentLog = Type.Object({ lines: Type.Array(Type.String()) });
export type AgentLog = Static<typeof AgentLog>;
