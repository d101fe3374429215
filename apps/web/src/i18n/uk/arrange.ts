/** How home looks. */
export const arrange = {
  title: 'Вигляд сторінки «Дім»',
  done: 'Готово',
  zones: 'Порядок зон',
  zonesHelp: 'Однаковий для всіх. Перетягніть зону або виберіть її ручку й натискайте стрілки.',
  move: 'Перемістити {{name}}, {{position}} з {{total}}',
  moved: 'Зона {{name}} тепер {{position}} з {{total}}',
} as const;
