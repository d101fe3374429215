/** Bringing the devices to another Wi-Fi. */
export const devicesWifi = {
  title: 'Change the Wi-Fi of the devices',
  help: 'Devices that are online get the new network and join it. Do this while the old network still works, and switch it off afterwards.',
  fault: 'The change of the Wi-Fi could not be read',
  offer:
    'The station is now in “{{ssid}}”. Its devices may still be in the old network, and new ones get that too until you decide.',
  useStation: 'Bring them to “{{ssid}}”',
  other: 'Another network…',
  dismiss: 'Not now',
  start: 'Change the Wi-Fi',
  cancel: 'Stop',
  cancelHelp: 'No more devices get it. One that already has it may still follow.',
  progress: 'Devices that followed',
  head: {
    running: 'Moving to “{{ssid}}”: {{done}} of {{total}} followed',
    ended: 'All {{total}} devices followed to “{{ssid}}”',
    partly: '{{done}} of {{total}} devices followed to “{{ssid}}”',
    cancelled: 'Stopped: {{done}} of {{total}} devices followed to “{{ssid}}”',
    none: 'There are no devices to bring to “{{ssid}}”',
  },
  started: 'started {{time}}',
  ended: 'ended {{time}}',
  state: {
    waiting: 'Not sent yet',
    told: 'Sent, has not arrived yet',
    followed: 'Followed',
    not_followed: 'Did not arrive',
    not_told: 'Not sent',
    offline: 'Offline',
  },
  advice: {
    not_followed:
      'Did not arrive: switch the old network on again and check the password, then try again. If that does not help, set the device up again.',
    not_told: 'Not sent: they stay in the old network. Try again.',
    offlineRunning: 'Offline: they get it if they come online while this runs.',
    offline: 'Offline: they stay in the old network. Switch them on while it works, and try again.',
  },
  showFollowed_one: 'Show the {{count}} that followed',
  showFollowed_other: 'Show the {{count}} that followed',
  hideFollowed: 'Hide those that followed',
  gone: 'a device that was removed',
} as const;
