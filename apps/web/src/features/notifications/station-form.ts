import type { StationNotifications, StationNotificationsPut } from '@station/protocol/notifications';

/** The settings as they are, to be sent back with a change: secrets stay. */
export function putOf({ rules, mail, ntfy, webhook }: StationNotifications): StationNotificationsPut {
  return {
    rules,
    mail: mail && (({ hasPassword: _known, ...rest }) => rest)(mail),
    ntfy: ntfy && (({ hasToken: _known, ...rest }) => rest)(ntfy),
    webhook: webhook && (({ origin: _known, ...rest }) => rest)(webhook),
  };
}

/** Usual ports of SMTP submission (RFC 8314). */
export const portOf = { tls: 465, starttls: 587, none: 25 } as const;
