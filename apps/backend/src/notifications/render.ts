import { cloudConditions } from '@station/protocol/cloud-conditions';
import type { Language } from '@station/protocol/languages';
import { ownValue } from '@station/protocol/own-value';
import { plainLines, plainText } from '@station/protocol/plain-text';
import type { Alert } from './alert.ts';
import type { AlertTexts } from './texts/alert-texts.ts';
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';
import { pl } from './texts/pl.ts';
import { uk } from './texts/uk.ts';

/** `path`: the page that shows more. */
export type Message = { title: string; text: string; path: string };

const texts: Readonly<Record<Language, AlertTexts>> = { de, en, pl, uk };

/** Names that a message lists; the page has all of them. */
const mostNamed = 8;

/** An alert in the language of its reader. Names and texts in it turn nothing around, and its title is one line. */
export function render(alert: Alert, language: Language): Message {
  const { title, text, path } = written(alert, language);
  return { title: plainText(title), text: plainLines(text), path };
}

function written(alert: Alert, language: Language): Message {
  const t = texts[language];
  switch (alert.kind) {
    case 'devices_offline':
    case 'devices_back':
    case 'devices_unstable':
    case 'battery_low':
      return aboutDevices(t, alert);
    case 'update_failed':
      return aboutUpdate(t, t.updateFailed(alert.version), alert.kept);
    case 'update_rolled_back':
      return aboutUpdate(t, t.updateRolledBack(alert.version), alert.kept);
    case 'rollback_failed':
      return aboutUpdate(t, t.rollbackFailed(alert.version), null);
    case 'firmware_stopped': {
      const { names, firmware, version } = alert;
      const title = t.firmwareStopped(names[language] ?? names['en'] ?? firmware, version);
      return { title, text: t.openFirmware, path: '/settings/updates' };
    }
    case 'conditions_raised': {
      const titles = alert.conditions.map((id) => titleOf(t, id));
      return { title: t.conditionsRaised(titles.length), text: titles.join('\n'), path: pathOf(alert.conditions) };
    }
    case 'conditions_over':
      return {
        title: t.conditionsOver(alert.conditions.map((id) => titleOf(t, id))),
        text: '',
        path: pathOf(alert.conditions),
      };
    case 'automations':
      return aboutAutomations(t, alert);
    case 'test':
      return { title: t.test, text: t.testBody, path: '/settings/notifications' };
  }
}

/** At most so many UTF-16 units, without half a character at the end. */
export const shortened = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`;

/** An id of a newer release has no title here. */
const titleOf = (t: AlertTexts, id: string): string => ownValue(t.conditions, id) ?? id;

const pathOf = (ids: readonly string[]): string =>
  ids.every((id) => Object.hasOwn(cloudConditions, id)) ? '/settings/remote' : '/settings/diagnostics';

function aboutDevices(t: AlertTexts, { kind, devices }: Extract<Alert, { devices: unknown }>): Message {
  const names = devices.map(({ name }) => name);
  const say = {
    devices_offline: t.offline,
    devices_back: t.back,
    devices_unstable: t.unstable,
    battery_low: t.batteryLow,
  };
  const named = names.slice(0, mostNamed).join(', ');
  const list = names.length <= mostNamed ? named : t.andMore(named, names.length - mostNamed);
  const lines = [...(names.length === 1 ? [] : [list]), ...(kind === 'devices_unstable' ? [t.unstableHelp] : [])];
  const only = devices.length === 1 ? devices[0] : undefined;
  return { title: say[kind](names), text: lines.join('\n'), path: only ? `/devices/${only.id}` : '/' };
}

const aboutUpdate = (t: AlertTexts, title: string, kept: string | null): Message => ({
  title,
  text: kept === null ? t.openStation : `${t.kept(kept)} ${t.openStation}`,
  path: '/settings/updates',
});

function aboutAutomations(t: AlertTexts, { messages, more }: Extract<Alert, { kind: 'automations' }>): Message {
  const [only, ...others] = messages;
  if (only !== undefined && others.length === 0 && more === 0) {
    const { name, text } = only;
    return { ...(name === '' ? { title: text, text: '' } : { title: name, text }), path: '/activity' };
  }
  // An automation may have no name.
  const lines = messages.map(({ name, text }) => (name === '' ? text : `${name}: ${text}`)).join('\n');
  return {
    title: t.messages(messages.length + more),
    text: more === 0 ? lines : t.andMore(lines, more),
    path: '/activity',
  };
}
