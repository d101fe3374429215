/** Tiles, pages and activity of devices. */
export const devices = {
  device: {
    back: 'Home',
    details: '{{name}}: details',
    more: 'Details',
    sliderOf: '{{what}}, {{name}}',
    waiting: 'Waiting for the device…',
    offlineSince: 'Offline, last seen {{time}}',
    fault: 'The devices could not be read',
    faulty: 'Sends data that cannot be read',
    broken: '{{name}} cannot be shown: what it reports has an error.',
    status: { online: 'online', offline: 'offline', unknown: 'not seen yet' },
    refused: {
      noAnswer: 'No answer, so it is not known whether it worked. If not, try again.',
      notSent: 'The station did not answer. Try again.',
      failed: 'It could not be reached, so nothing has changed. Try again.',
    },
    capability: {
      power: 'Power',
      brightness: 'Brightness',
      temperature: 'Temperature',
      humidity: 'Humidity',
      motion: 'Motion',
      battery: 'Battery',
    },
    value: {
      yes: 'Yes',
      no: 'No',
    },
    event: {
      some: 'Something happened',
      ota_failed: 'Firmware update failed',
      type_differs: 'Reports a different device type',
    },
    activity: {
      title: 'Activity',
      empty: 'Nothing has happened yet.',
      older: 'Show older',
      fresh_one: 'Show {{count}} new event',
      fresh_other: 'Show {{count}} new events',
    },
  },
  activity: {
    title: 'Activity',
    removed: 'Removed device',
    automation: 'Automation',
  },
} as const;
