import { plainText } from '@station/protocol/plain-text';
import type { DoctorCheck, DoctorReport, DoctorStatus } from '@station/protocol/doctor';
import { consequences } from '@station/protocol/doctor-consequences';
import { type DoctorCheckId, doctorChecks, type FindingCatalogue } from '@station/protocol/doctor-findings';
import { ownValue } from '@station/protocol/own-value';

/** Something that a check found; its texts are in the catalogue of the program. */
export type Finding<Code extends string = string> = { code: Code; values: Readonly<Record<string, string>> };

/** Result of one check. Without findings it is `ok`. */
export type CheckOutcome<Code extends string = string> = {
  /** What was looked at, without words to translate: a path, a size, a version. */
  detail: string | null;
  findings: readonly Finding<Code>[];
};

const ranks: Readonly<Record<DoctorStatus, number>> = { fault: 3, warning: 2, unknown: 1, ok: 0 };

/** The worst of several statuses; `ok` of none. */
export const worstOf = (statuses: readonly DoctorStatus[]): DoctorStatus =>
  statuses.reduce((worst, status) => (ranks[status] > ranks[worst] ? status : worst), 'ok');

/** Replaces findings that follow from another one of the report, so that people begin with the cause. */
export function nameCauses<Id extends DoctorCheckId>(
  outcomes: readonly (readonly [Id, CheckOutcome])[],
): (readonly [Id, CheckOutcome])[] {
  const named = outcomes.flatMap(([, { findings }]) => findings);
  const concerns = (cause: Finding, { values: { service } }: Finding): boolean =>
    service === undefined || (cause.values['service'] ?? service) === service;
  return outcomes.map(([id, { detail, findings }]) => {
    const causeOf = (one: Finding): string | undefined =>
      ownValue(consequences, `${id}: ${one.code}`)?.find((cause) =>
        named.some((other) => other.code === cause && concerns(other, one)),
      );
    const told = findings.map((one): Finding => {
      const cause = causeOf(one);
      return cause === undefined ? one : { code: 'follows', values: { cause } };
    });
    const isRepeated = ({ code, values }: Finding, at: number): boolean =>
      code === 'follows' && told.findIndex((one) => one.code === code && one.values['cause'] === values['cause']) < at;
    return [id, { detail, findings: told.filter((one, at) => !isRepeated(one, at)) }] as const;
  });
}

/** A check with its texts. */
export function describeCheck(
  id: DoctorCheckId,
  { detail, findings }: CheckOutcome,
  catalogue: FindingCatalogue,
): DoctorCheck {
  const described = findings.flatMap(({ code, values }) => {
    const text = ownValue(catalogue, code);
    if (text === undefined) return [];
    const { status, message, help } = text;
    return [{ code, status, message: fill(message, values), help: fill(help, values), values: { ...values } }];
  });
  return {
    id,
    title: doctorChecks[id],
    status: worstOf(described.map(({ status }) => status)),
    detail,
    findings: described,
  };
}

const fill = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => ownValue(values, name) ?? whole);

/** Exit code of `doctor`: 0 all is well, 1 there are warnings, 2 there are faults. What could not be checked changes nothing. */
export const exitCodeOf = (statuses: readonly DoctorStatus[]): 0 | 1 | 2 => {
  const worst = worstOf(statuses);
  return worst === 'fault' ? 2 : worst === 'warning' ? 1 : 0;
};

const names: Readonly<Record<DoctorStatus, string>> = {
  ok: 'ok',
  unknown: 'UNKNOWN',
  warning: 'WARNING',
  fault: 'FAULT',
};
const nameWidth = 8;

/** The report as text for a terminal, the checks in their order. Ends with a line break. */
export function renderReport({ program, version, at, checks }: DoctorReport): string {
  const lines = checks.flatMap(({ title, status, detail, findings }) => [
    `${names[status].padEnd(nameWidth)} ${title}${detail === null ? '' : `: ${detail}`}`,
    ...findings.flatMap(({ message, help }) => [
      `${' '.repeat(nameWidth + 1)}${message}`,
      `${' '.repeat(nameWidth + 1)}-> ${help}`,
    ]),
  ]);
  const counts = (['fault', 'warning', 'unknown', 'ok'] as const)
    .map((status) => ({ status, count: checks.filter((check) => check.status === status).length }))
    .filter(({ count }) => count > 0)
    .map(({ status, count }) => `${count} ${status}`);
  const head = `${program === 'backend' ? 'Backend' : 'Agent'} ${version}, checked ${at}`;
  return `${[head, '', ...lines, '', counts.join(', ')].map(plainText).join('\n')}\n`;
}
