import { agentFindings, backendFindings, type FindingCode } from '@station/protocol/doctor-findings';

/** What a check of the diagnostics found, and what to do about it. */
export type FindingTexts = Readonly<Record<FindingCode, { readonly message: string; readonly help: string }>>;

const withValues = (text: string): string => text.replaceAll(/\{(\w+)\}/g, '{{$1}}');

/** The words of the catalogue; values are named as in all texts of these pages. */
export const finding = Object.fromEntries(
  Object.entries({ ...backendFindings, ...agentFindings }).map(([code, { message, help }]) => [
    code,
    { message: withValues(message), help: withValues(help) },
  ]),
) as FindingTexts;
